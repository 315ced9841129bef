package selftest

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// sockets listens at every place that a jail may not reach. Whoever gets there
// is greeted.
func (n *node) sockets() error {
	n.site.Socket, n.site.Abstract = filepath.Join(n.dir, "socket"), filepath.Base(n.dir)
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	n.greet(l)
	n.site.Port = l.Addr().(*net.TCPAddr).Port
	for _, address := range []string{n.site.Socket, "@" + n.site.Abstract} {
		l, err := net.Listen("unix", address)
		if err != nil {
			return err
		}
		n.greet(l)
	}
	datagrams, err := net.ListenPacket("unixgram", n.site.Socket+"-datagram")
	if err != nil {
		return err
	}
	n.undo = append(n.undo, func() { datagrams.Close() })
	packets, err := net.ListenPacket("udp", fmt.Sprintf(":%d", n.site.Port))
	if err != nil {
		return err
	}
	n.undo = append(n.undo, func() { packets.Close() })
	go func() {
		b := make([]byte, 512)
		for {
			_, from, err := packets.ReadFrom(b)
			if err != nil {
				return
			}
			packets.WriteTo([]byte(Marker), from)
		}
	}()
	return nil
}

func (n *node) greet(l net.Listener) {
	n.undo = append(n.undo, func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.WriteString(c, Marker+"\n")
				c.SetDeadline(time.Now().Add(patience))
				io.Copy(io.Discard, c) // a close with bytes unread would take the greeting back
			}()
		}
	}()
}

// memory makes a segment and a queue, where the node has them.
func (n *node) memory() error {
	key := int(n.site.Port)<<8 | 0x4f000000
	if id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600); err == nil {
		n.site.ShmKey = key
		n.undo = append(n.undo, func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	name := filepath.Base(n.dir)
	if fd, err := openQueue(name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR); err == nil {
		unix.Close(fd)
		n.site.Queue = name
		n.undo = append(n.undo, func() { removeQueue(name) })
	}
	return nil
}

func removeQueue(name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_MQ_UNLINK, at(p), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// victim starts a process for jails to signal.
func (n *node) victim() error {
	cmd := exec.Command(n.config.Program, "probe", "--linger", "victim")
	cmd.Args[0] = "omnijail-selftest-victim"
	if _, err := cmd.StdinPipe(); err != nil { // which closes with this process
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.site.Victim = cmd.Process.Pid
	n.undo = append(n.undo, func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return nil
}
