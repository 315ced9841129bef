package dnsstub

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func TestNamesAreStableAndUnique(t *testing.T) {
	n := NewNames()
	seen := map[netip.Addr]string{}
	for range 2 {
		for i := range MaxNames {
			host := fmt.Sprintf("h%d.example", i)
			v4, v6, err := n.Addrs(host)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []netip.Addr{v4, v6} {
				if other, ok := seen[a]; ok && other != host {
					t.Fatalf("%v stands for %s and %s", a, other, host)
				}
				seen[a] = host
				if back, ok := n.Name(a); !ok || back != host {
					t.Fatalf("Name(%v) = %q, %v; want %q", a, back, ok, host)
				}
			}
		}
	}
	if _, _, err := n.Addrs("one.too.many"); !errors.Is(err, ErrTooManyNames) {
		t.Errorf("name %d: %v", MaxNames+1, err)
	}
	for _, s := range []string{"198.18.0.1", "198.19.255.255", "127.0.0.1", "8.8.8.8", "fd6f:6d6e:696a::1"} {
		if host, ok := n.Name(netip.MustParseAddr(s)); ok {
			t.Errorf("Name(%s) = %q, want none", s, host)
		}
	}
}

func TestNamesFromManyGoroutines(t *testing.T) {
	n := NewNames()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				host := fmt.Sprintf("h%d.example", i)
				if v4, _, err := n.Addrs(host); err != nil {
					t.Error(err)
				} else if back, _ := n.Name(v4); back != host {
					t.Errorf("Name(%v) = %q, want %q", v4, back, host)
				}
			}
		})
	}
	wg.Wait()
}

// Data hidden in names under an allowed wildcard leaves no faster than this.
func TestWildcardNamesAreLimitedPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := stub("listed.example")
		var limited []error
		c.Limited = func(_ string, err error) { limited = append(limited, err) }
		next := 0
		flood := func() (answered int) {
			for range 10 * NewNamesPerMinute {
				name := fmt.Sprintf("n%d.wild.example.", next)
				next++
				if _, got := read(t, c.answer(ask(t, name, dnsmessage.TypeAAAA, nil))); got != "ServerFailure" {
					answered++
				}
			}
			return answered
		}
		if got := flood(); got != NewNamesPerMinute {
			t.Errorf("%d names in the first instant, want %d", got, NewNamesPerMinute)
		}
		if len(limited) == 0 || !errors.Is(limited[0], ErrTooFast) {
			t.Errorf("told %v", limited)
		}
		time.Sleep(time.Minute / 2)
		if got := flood(); got != NewNamesPerMinute/2 {
			t.Errorf("%d names half a minute later, want %d", got, NewNamesPerMinute/2)
		}
		for _, known := range []string{"n0.wild.example.", "listed.example."} {
			if _, got := read(t, c.answer(ask(t, known, dnsmessage.TypeA, nil))); got == "ServerFailure" {
				t.Errorf("%s is limited, too", known)
			}
		}
		time.Sleep(24 * time.Hour)
		if got := flood(); got != NewNamesPerMinute {
			t.Errorf("%d names a day later, want %d", got, NewNamesPerMinute)
		}
	})
}
