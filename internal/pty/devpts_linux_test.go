package pty

import (
	"bufio"
	"testing"

	"golang.org/x/sys/unix"
)

func newTerminal(t *testing.T) (master, slave interface {
	Fd() uintptr
	Read([]byte) (int, error)
	Write([]byte) (int, error)
}) {
	t.Helper()
	d, err := NewDevpts()
	if err != nil {
		t.Fatal(err)
	}
	m, s, err := d.Terminal(1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(); s.Close(); d.Close() })
	return m, s
}

func TestTerminalCarriesLines(t *testing.T) {
	master, slave := newTerminal(t)
	if _, err := master.Write([]byte("typed\n")); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(slave).ReadString('\n')
	if err != nil || line != "typed\n" {
		t.Fatalf("slave read %q, %v", line, err)
	}
}

func TestTerminalBelongsToTheUser(t *testing.T) {
	_, slave := newTerminal(t)
	var st unix.Stat_t
	if err := unix.Fstat(int(slave.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if st.Uid != 1000 || st.Mode&0o777 != 0o620 {
		t.Errorf("slave is uid %d mode %o, want 1000 620", st.Uid, st.Mode&0o777)
	}
}

// Two instances number their terminals apart: both begin at 0, and neither is a
// terminal of the node.
func TestS02_InstancesAreApart(t *testing.T) {
	var first [2]unix.Stat_t
	for i := range first {
		_, slave := newTerminal(t)
		if err := unix.Fstat(int(slave.Fd()), &first[i]); err != nil {
			t.Fatal(err)
		}
	}
	if first[0].Rdev != first[1].Rdev || first[0].Dev == first[1].Dev {
		t.Errorf("terminals %#x on %#x and %#x on %#x: want number 0 of two instances",
			first[0].Rdev, first[0].Dev, first[1].Rdev, first[1].Dev)
	}
}

func TestResize(t *testing.T) {
	d, err := NewDevpts()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	master, slave, err := d.Terminal(1000)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := Resize(master, 33, 121); err != nil {
		t.Fatal(err)
	}
	ws, err := unix.IoctlGetWinsize(int(slave.Fd()), unix.TIOCGWINSZ)
	if err != nil || ws.Row != 33 || ws.Col != 121 {
		t.Errorf("size is %+v, %v", ws, err)
	}
}
