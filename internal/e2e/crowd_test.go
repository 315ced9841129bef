package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// crowd opens n connections as alice, each with the beginning of a request that
// lasts, and returns the last one's answer as far as there is one.
func crowd(t *testing.T, n *Node, size int, request string) (conns []net.Conn, last string) {
	t.Helper()
	var err error
	asUser(t, Alice, func() {
		for range size {
			var c net.Conn
			if c, err = net.Dial("unix", n.Socket); err != nil {
				return
			}
			conns = append(conns, c)
			c.SetDeadline(time.Now().Add(hang))
			io.WriteString(c, request) // the one too many may be hung up on by then
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	k, _ := conns[size-1].Read(b)
	return conns, string(b[:k])
}

// A uid's connections have a ceiling, so that those of others are still accepted.
func TestS14_OneUidDoesNotTakeAllConnections(t *testing.T) {
	const jails, most = 8, 8 + 192
	n := NewNode(t, Options{NoLab: true, Config: accessOf(map[string]any{"jails": jails})})
	conns, last := crowd(t, n, most+1, "GET /v1/events?follow=true HTTP/1.1\r\nHost: omnijail\r\n\r\n")
	if !strings.HasPrefix(last, "HTTP/1.1 429 ") || !strings.Contains(last, `"too_many_connections"`) {
		t.Errorf("the connection after %d is answered %q", most, last)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"ls"}}); o.Exit == 0 || !strings.Contains(o.Stderr, fmt.Sprintf("%d connections", most)) {
		t.Errorf("alice is told: %+v", o)
	}
	n.Run(t, Ctl{UID: Bob, Args: []string{"exec", "--", "true"}}).Want(t, 0)
	for _, c := range conns {
		c.Close()
	}
	for deadline := time.Now().Add(hang); ask(t, n, Alice, "GET", "/v1/jails", "").status != 200; {
		if time.Now().After(deadline) {
			t.Fatal("the places of closed connections are not given back")
		}
	}
}

// A directory full of hidden names costs the daemon descriptors for the moment in
// which they are hidden, and not as long as the command runs.
func TestS14_HiddenNamesAreNotHeldOpen(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	const many = 3000
	files := map[string]string{}
	for i := range many {
		files[fmt.Sprintf(".hidden%d", i)] = ""
	}
	n.launch(t, Ctl{UID: Alice, Dir: n.Workspace(t, Alice, files), Args: []string{"exec", "--read", ".", "--", "sh", "-c", "echo runs; read x"}}).says(t, "runs")
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.PID()))
	if err != nil || len(open) > many/2 {
		t.Errorf("%d descriptors are open, %v", len(open), err)
	}
}
