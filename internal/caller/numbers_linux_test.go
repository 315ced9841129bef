package caller

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A busy daemon has many descriptors open, and the fork moves those that it needs
// to numbers above a child's highest: the executable must be found whatever that is.
func TestAScoutStartsWhateverTheNumbersOfDescriptors(t *testing.T) {
	c := newChild(t)
	for number := 90; number < 110; number++ {
		fd, err := unix.FcntlInt(c.Init.Fd(), unix.F_DUPFD_CLOEXEC, number)
		if err != nil {
			t.Fatal(err)
		}
		high := c
		high.Init = os.NewFile(uintptr(fd), "high")
		s, err := high.start()
		high.Init.Close()
		if err != nil {
			t.Errorf("executable at descriptor %d: %v", fd, err)
			continue
		}
		s.end()
	}
}
