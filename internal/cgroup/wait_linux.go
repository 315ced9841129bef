package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// WaitEmpty returns once no process is left in the group or below it, or with
// the context's error. It waits on events of the kernel.
func (g *Group) WaitEmpty(ctx context.Context) error {
	if err := g.tree.waitEmpty(ctx, g.path); err != nil {
		return fmt.Errorf("wait for cgroup to empty: %w", err)
	}
	return nil
}

func (t *tree) waitEmpty(ctx context.Context, p string) error {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return err
	}
	defer unix.Close(wake)
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		unix.Write(wake, []byte{1, 0, 0, 0, 0, 0, 0, 1}) // any count, in either byte order
		close(woken)
	})
	defer func() {
		if !stop() {
			<-woken // it still uses the descriptor
		}
	}()
	if t.v2 {
		return waitEvents(ctx, wake, filepath.Join(t.dir(p), "cgroup.events"))
	}
	return t.waitMembers(ctx, wake, p)
}

// waitEvents waits for cgroup.events to say that the cgroup is not populated.
func waitEvents(ctx context.Context, wake int, file string) error {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var buf [256]byte
	for {
		n, err := unix.Pread(fd, buf[:], 0) // also arms the next event
		if err == unix.ENODEV {
			return nil // removed
		}
		if err != nil {
			return err
		}
		if value(string(buf[:n]), "populated") == "0" {
			return nil
		}
		if err := poll(ctx, wake, fd, unix.POLLPRI); err != nil {
			return err
		}
	}
}

// waitMembers waits for one member after the other: v1 tells nobody.
func (t *tree) waitMembers(ctx context.Context, wake int, p string) error {
	for {
		pids, err := members(t.dir(p))
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			fd, err := t.hold(p, pid)
			if err != nil {
				return err
			}
			if fd < 0 {
				continue
			}
			err = poll(ctx, wake, fd, unix.POLLIN)
			unix.Close(fd)
			if err != nil {
				return err
			}
		}
	}
}

// poll waits for fd to have the event, or for the context to end, which wakes.
func poll(ctx context.Context, wake, fd int, event int16) error {
	fds := []unix.PollFd{{Fd: int32(fd), Events: event}, {Fd: int32(wake), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, unix.EINTR):
		default:
			return err
		}
	}
}

// event reads one value of a flat file such as cgroup.events.
func event(file, key string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return value(string(text), key), nil
}

func value(text, key string) string {
	for line := range strings.Lines(text) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			return v
		}
	}
	return ""
}
