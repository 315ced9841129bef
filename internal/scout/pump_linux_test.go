package scout

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// A command that writes nothing keeps nothing of clients that have gone: anybody
// who may read its output may come as often as they like.
func TestS17_ClientsOfASilentCommandLeaveNothing(t *testing.T) {
	p := &pump{ring: newRing(ringSize)}
	before := runtime.NumGoroutine()
	for range 100 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		p.serve(os.NewFile(uintptr(pair[0]), "client"), child.PumpAsk{Follow: true})
		unix.Close(pair[1])
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
	p.mu.Lock() // the goroutines are gone, which no lock has said
	defer p.mu.Unlock()
	if len(p.streams) != 0 {
		t.Errorf("%d streams are left", len(p.streams))
	}
}
