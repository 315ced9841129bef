package netns

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A namespace dies when its last holder does, and takes the far end of a veth
// pair with it: the near end's disappearance is the proof.
func TestCloseEndsTheNamespace(t *testing.T) {
	n := newNet(t)
	answer(t, n)() // a server that came and went
	outer := newNet(t)
	h, err := netlink.NewHandleAt(netns.NsHandle(outer.FD().Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	veth := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: "far"}
	veth.Name = "near"
	veth.PeerNamespace = netlink.NsFd(n.FD().Fd())
	if err := h.LinkAdd(veth); err != nil {
		t.Fatal(err)
	}
	updates, done := make(chan netlink.LinkUpdate), make(chan struct{})
	defer func() {
		close(done)
		for range updates { // until its descriptor is closed, which the next test would miss
		}
	}()
	ns := netns.NsHandle(outer.FD().Fd())
	if err := netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{Namespace: &ns}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.LinkByName("near"); err != nil {
		t.Fatalf("before Close: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	late := time.After(time.Minute) // the kernel ends namespaces in batches
	for {
		select {
		case u := <-updates:
			if u.Header.Type == unix.RTM_DELLINK && u.Attrs().Name == "near" {
				return
			}
		case <-late:
			t.Fatal("the namespace is still there")
		}
	}
}

func TestCloseClosesEachDescriptorOnce(t *testing.T) {
	newNet(t).Close() // what the libraries open once is open now
	before := descriptors(t)
	for range 20 {
		n := newNet(t)
		n.Forget()
		n.Forget()
		if got := n.Sockets(); len(got.Files()) != 0 {
			t.Fatalf("after Forget: %v", got)
		}
		for range 2 {
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// The first thread of a process cannot end; if New ever ran on it, the process
// would show a foreign network for good.
func TestThisProcessStaysWhereItIs(t *testing.T) {
	home, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		newNet(t)
		runtime.Gosched()
	}
	for _, link := range []string{"/proc/self/ns/net", "/proc/thread-self/ns/net"} {
		if now, err := os.Readlink(link); err != nil || now != home {
			t.Errorf("%s: %s, %v; want %s", link, now, err, home)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}
