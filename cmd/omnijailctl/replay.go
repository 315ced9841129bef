package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/policy"
)

// policyReplay prints what doc would change of the requests in an audit file.
func (g *globals) policyReplay(doc *policy.Document, file string) error {
	in := os.Stdin
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return err
		}
		defer in.Close()
	}
	recorded, err := readRequests(in)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	found, err := policy.Replay(doc, recorded)
	if err != nil {
		return err
	}
	if g.json {
		err = printJSON(map[string]any{"same": found.Same, "changes": append([]policy.Change{}, found.Changes...), "unknown": append([]policy.Change{}, found.Unknown...)})
	} else {
		g.printReplay(found)
	}
	if err == nil && len(found.Changes) > 0 {
		return exitError(1)
	}
	return err
}

// readRequests takes the requests that rules decided, and no other, from lines of
// a journal.
func readRequests(in io.Reader) (out []policy.Recorded, err error) {
	const longest = 1 << 20
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	for n := 1; lines.Scan(); n++ {
		var r audit.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("line %d is no record of a journal: %w", n, err)
		}
		if r.Kind != audit.KindRequest || r.Decision != audit.Allow && !decidedByRule[audit.Code(r.Code)] {
			continue
		}
		out = append(out, policy.Recorded{ // a file from elsewhere may hold what no journal of ours does
			ID: audit.Escape(r.ID), Method: audit.Escape(r.Method), Authority: audit.Escape(r.Authority), Path: audit.Escape(r.Path), Allowed: r.Decision == audit.Allow,
		})
	}
	return out, lines.Err()
}

var decidedByRule = map[audit.Code]bool{
	audit.CodeNoNetwork: true, audit.CodeNoRule: true, audit.CodeDenyRule: true, audit.CodePlainHTTP: true,
}

func (g *globals) printReplay(found policy.Replayed) {
	for _, c := range found.Changes {
		fmt.Println(c)
	}
	if g.quiet {
		return
	}
	for _, c := range found.Unknown {
		fmt.Printf("not judged   %s %s%s (%s): %s\n", c.Method, c.Authority, c.Path, c.Last, c.Text)
	}
	changed, unknown := 0, 0
	for _, c := range found.Changes {
		changed += c.Count
	}
	for _, c := range found.Unknown {
		unknown += c.Count
	}
	fmt.Printf("%d requests: %d the same, %d changed, %d not judged\n", found.Same+changed+unknown, found.Same, changed, unknown)
}
