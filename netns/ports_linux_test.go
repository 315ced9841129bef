package netns

import (
	"os"
	"sync"
	"testing"
)

// Sockets that are asked for while the network is closed are its own or none:
// never another's, whose namespace has got the same number meanwhile.
func TestSocketsOfAClosingNetAreItsOwn(t *testing.T) {
	for range 20 {
		n := newNet(t)
		own, err := os.Readlink("/proc/self/ns/net")
		if err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		for range 4 {
			asking.Go(func() {
				for {
					f, err := n.Socket()
					if err != nil {
						return
					}
					f.Close()
				}
			})
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		asking.Wait()
		if now, err := os.Readlink("/proc/self/ns/net"); err != nil || now != own {
			t.Fatalf("this process is in %s, %v; want %s", now, err, own)
		}
	}
	n := newNet(t)
	n.Close()
	if f, err := n.Socket(); err == nil {
		f.Close()
		t.Error("a closed network gave a socket")
	}
	if f, err := n.Listen(8080); err == nil {
		f.Close()
		t.Error("a closed network listens")
	}
}
