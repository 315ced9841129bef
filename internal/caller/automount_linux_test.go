package caller

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// automount mounts what has names mounted when they are looked for, as nodes have
// with a map of hosts, and returns the end of what asks for them. Nothing is ever
// mounted.
func automount(t *testing.T, dir string) (asked *os.File) {
	t.Helper()
	others := exec.Command("sleep", "1000") // whose group is let through instead of this one
	others.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := others.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { others.Process.Kill(); others.Wait() })
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_DIRECT); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[1])
	options := fmt.Sprintf("fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect", ends[1], others.Process.Pid)
	if err := unix.Mount("map of hosts", dir, "autofs", 0, options); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(ends[0], true); err != nil {
		t.Fatal(err)
	}
	asked = os.NewFile(uintptr(ends[0]), "asked")
	t.Cleanup(func() {
		asked.Close() // and whoever waits is told that there is nothing
		unix.Unmount(dir, unix.MNT_DETACH)
	})
	return asked
}

// nameAsked waits for what is asked to be mounted; empty for nothing so far.
func nameAsked(t *testing.T, asked *os.File, patience time.Duration) string {
	t.Helper()
	asked.SetReadDeadline(time.Now().Add(patience))
	packet := make([]byte, 512)
	n, err := asked.Read(packet)
	const length, name = 40, 44 // in struct autofs_v5_packet
	if err != nil || n < name {
		return ""
	}
	return string(packet[name : name+int(binary.NativeEndian.Uint32(packet[length:]))])
}

// The path in a .git is looked at outside. Were it looked at by any means, a jail
// without a network could tell a server of its choice what it likes.
func TestS08_APointerMountsNothing(t *testing.T) {
	dir := playground(t)
	net := mkdir(t, dir, "net")
	asked := automount(t, net)
	go os.Stat(filepath.Join(net, "anybody.example", "x"))
	if got := nameAsked(t, asked, hang); got != "anybody.example" {
		t.Fatalf("the map does not work: %q", got)
	}
	w, _ := watch(t, dir)
	write(t, dir, "w/sub/.git", 0o644, "gitdir: "+net+"/secret.evil.example/export/x\n")
	mountsNothing(t, asked, func() {
		w.scout.conn.SetDeadline(time.Now().Add(hang))
		f, err := w.Next()
		if err == nil && f.Kind == child.WatchAlarm {
			w.Frozen()
			f, err = w.Next()
		}
		if err != nil || f.Kind != child.WatchMoved {
			t.Errorf("%+v, %v", f, err)
		}
	})
}

// mountsNothing fails where a name is asked for while do runs.
func mountsNothing(t *testing.T, asked *os.File, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	defer func() { <-done }()
	for {
		select {
		case <-done:
			return
		default:
		}
		if got := nameAsked(t, asked, 10*time.Millisecond); got != "" {
			asked.Close() // and whoever waits is told that there is nothing
			t.Fatalf("the node looks for a server %q", got)
		}
	}
}

// So it is with what a script says that interprets it, and with a link to a program.
func TestS17_AProgramsPathMountsNothing(t *testing.T) {
	dir := playground(t)
	net := mkdir(t, dir, "net")
	asked := automount(t, net)
	write(t, dir, "w/script", 0o755, "#!"+net+"/secret.evil.example/x\n")
	symlink(t, net+"/secret.evil.example/x", dir+"/w/link")
	symlink(t, net+"/secret.evil.example/x", dir+"/home/.pyenv")
	write(t, dir, "home/bin/x", 0o755, "")
	for _, argv0 := range []string{"./script", "./link", dir + "/home/bin/x"} {
		o := Options{Child: newChild(t), Request: request(dir)}
		o.Request.Argv0 = []byte(argv0)
		mountsNothing(t, asked, func() {
			if opened, err := Open(t.Context(), o); err == nil {
				opened.Close()
			}
		})
	}
}
