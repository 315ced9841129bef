package mitm

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestA75_HandshakesTakeTurns has all turns of a jail taken: its next handshake waits
// for one, what it has connected already is served, and so is another jail.
func TestA75_HandshakesTakeTurns(t *testing.T) {
	busy, other := newRig(t, options{rules: []string{"GET api.test"}}), newRig(t, options{rules: []string{"GET api.test"}})
	up := &seen{}
	addr, beside := busy.serve("api.test:443", up), other.serve("api.test:443", up)
	const get = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"
	kept := busy.dialTLS(addr, "api.test")
	busy.say(kept, get) // its handshake is over on both sides then
	for range cap(busy.proxy.turns) {
		busy.proxy.turns <- struct{}{}
	}
	late := make(chan error, 1)
	go func() {
		c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: busy.jailRoots(), ServerName: "api.test"})
		if err == nil {
			c.Close()
		}
		late <- err
	}()
	if resp, _ := busy.say(kept, get); resp.StatusCode != http.StatusOK {
		t.Errorf("a connection that was there: %d", resp.StatusCode)
	}
	if resp, _ := other.say(other.dialTLS(beside, "api.test"), get); resp.StatusCode != http.StatusOK {
		t.Errorf("another jail: %d", resp.StatusCode)
	}
	select {
	case err := <-late:
		t.Errorf("a handshake without a turn: %v", err)
	default:
	}
	<-busy.proxy.turns
	if err := <-late; err != nil {
		t.Errorf("with a turn: %v", err)
	}
}

// TestA72_WhoIsWaitedForHoldsNoTurn begins more handshakes than there are turns, and
// ends none of them.
func TestA72_WhoIsWaitedForHoldsNoTurn(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	addr := r.serve("api.test:443", http.NotFoundHandler())
	for range cap(r.proxy.turns) + 1 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(handshakeTimeout / 2)) // only bounds a hang
		half := tls.Client(muteAfterHello{c}, &tls.Config{RootCAs: r.jailRoots(), ServerName: "api.test"})
		if err := half.Handshake(); err != errMute {
			t.Fatal(err)
		}
	}
	r.dialTLS(addr, "api.test")
}

// muteAfterHello reads the answer to a ClientHello and says nothing more.
type muteAfterHello struct{ net.Conn }

var errMute = context.Canceled

func (c muteAfterHello) Read(b []byte) (int, error) {
	if _, err := c.Conn.Read(b); err != nil {
		return 0, err
	}
	return 0, errMute
}

// TestA75_TurnsAreTakenInOrder and kept while there is work, given up when the client
// is waited for, and not taken when the handshake is given up.
func TestA75_TurnsAreTakenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, done := make(turns, 1), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var order []int
		say := make([]net.Conn, 3)
		for i := range say {
			var ours net.Conn
			say[i], ours = net.Pipe()
			c := &paced{Conn: ours, ctx: ctx, turns: one}
			go func() {
				defer c.over()
				for {
					if _, err := c.Read(make([]byte, 1)); err != nil {
						return
					}
					order = append(order, i)
					<-done // the work on what came
				}
			}()
		}
		for i := range say {
			say[i].Write([]byte{0})
			synctest.Wait()
		}
		for i := range say {
			if len(order) != i+1 || order[i] != i {
				t.Errorf("%v have had a turn when %d is at work", order, i)
			}
			done <- struct{}{}
			synctest.Wait()
		}
		one <- struct{}{} // by another
		say[1].Write([]byte{0})
		synctest.Wait()
		cancel()
		for _, c := range say {
			c.Close()
		}
		synctest.Wait()
		if <-one; len(order) != 3 || len(one) != 0 {
			t.Errorf("turns of %v, and %d are taken at the end", order, len(one))
		}
	})
}
