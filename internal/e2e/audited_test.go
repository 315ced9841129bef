package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// auditKills is how often the daemon is killed among requests, and in a soak.
const (
	auditKills     = 8
	auditSoakKills = 50
)

// A request leaves the node only when its record is written: whenever the daemon is
// killed, the journal has all that the upstream has seen.
func TestS22_WhatTheUpstreamSawIsRecorded(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	rng := rand.New(rand.NewPCG(randomSeed, 22))
	for i := range min(soak(t, auditKills), auditSoakKills) {
		uid := uint32(3600 + i)
		before := len(n.Lab.Seen())
		r := n.launch(t, Ctl{UID: uid, Dir: n.Project(t, uid), Args: []string{"exec", "--allow", "GET example.test/**", "--", "sh", "-c",
			fmt.Sprintf(`for n in 1 2 3; do (i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo "url = https://example.test/ok/%d/$n/$i"; done | curl -sS -K - >/dev/null) & done; wait`, i)}})
		until(t, "requests arrive", func() bool { return len(n.Lab.Seen()) > before })
		time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Millisecond)))) // the instant, not a synchronisation
		n.Kill(t)
		r.ctl.wait(t)
		n.Start(t)
		r.finish(t)
		recorded := recordedPaths(t, n)
		for _, seen := range n.Lab.Seen()[before:] {
			if !recorded[seen.Target] {
				t.Fatalf("round %d: the upstream saw %s, the journal of %d requests did not", i, seen.Target, len(recorded))
			}
		}
		t.Logf("round %d: %d requests seen", i, len(n.Lab.Seen())-before)
	}
}

// recordedPaths are the paths of allowed requests in a node's journal.
func recordedPaths(t *testing.T, n *Node) map[string]bool {
	t.Helper()
	f, err := os.Open(filepath.Join(n.Dir, "state", "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	paths := map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct{ Kind, Decision, Path string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		if r.Kind == "request" && r.Decision == "allow" {
			paths[r.Path] = true
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return paths
}
