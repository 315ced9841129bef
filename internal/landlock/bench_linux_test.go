package landlock

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// BenchmarkRestrict measures what the wall adds to a start: a ruleset of as many
// places as a jail has. A thread takes few walls, so each has one of its own.
func BenchmarkRestrict(b *testing.B) {
	var places []child.Place
	for _, p := range []string{"/", "/etc", "/run", "/proc", "/dev", "/dev/shm", "/tmp", "/root", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/sys", "/home"} {
		places = append(places, child.Place{Path: p, Rights: child.PlaceRead | child.PlaceExecute})
	}
	var spent time.Duration
	for b.Loop() {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with its wall
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				done <- err
				return
			}
			begin := time.Now()
			err := Lower(Wall{Files: true, Places: places}, ABI()).Restrict()
			spent += time.Since(begin)
			done <- err
		}()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "wall-us")
}
