package caller

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// FuzzReply reads what a scout says in its two phases, which is worth no more
// than its user's own word. What passes has no place and no name outside of what
// the jail may have of that user.
func FuzzReply(f *testing.F) {
	req := request("/home/someone")
	good := jail.OpenReply{
		Grants: []jail.OpenGrant{{Path: "/home/someone/w", Dir: true, Write: true,
			Held: []jail.OpenName{{Name: ".git", Dir: true}}, ReadOnly: []jail.OpenName{{Name: ".git/config"}}, Masked: []jail.OpenName{{Name: ".env"}}}},
		Cwd: "/home/someone/w", Exec: "/usr/bin/true", Pins: []string{"/home/someone/w/p.yaml"}, Hidden: []string{".env"},
	}
	for _, seed := range []any{good, jail.OpenReply{Err: &jail.OpenError{Code: "not_found", Exit: 127, Reason: "true: not found"}}, child.ScoutNamesReply{Found: []bool{true, true, false}}} {
		b, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	req.User.Home = "/home/someone/home"
	f.Fuzz(func(t *testing.T, b []byte) {
		var names child.ScoutNamesReply
		if strict(b, &names) == nil {
			o := &Opened{Reply: good}
			if _, err := o.sortNames(names, nil, make([]*os.File, 1), make([][]*os.File, 1)); err == nil {
				t.Fatal("protected names are settled without a descriptor")
			}
		}
		var reply jail.OpenReply
		if strict(b, &reply) != nil {
			return
		}
		if o, err := sortFiles(&req, reply, nil); err == nil && len(o.Reply.Grants)+len(o.Reply.Pins) > 0 {
			t.Fatal("grants are settled without descriptors")
		}
		if reply.Err != nil {
			e := &jail.OpenError{}
			if !errors.As(bounded(reply.Err), &e) || e.Exit < 125 || e.Exit > 127 || len(e.Reason) > maxText {
				t.Fatalf("a refusal passes as %+v", e)
			}
			return
		}
		if checkReply(&req, reply) == nil {
			checkPlaces(t, &req, reply)
		}
	})
}

func strict(b []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(out)
}

func checkPlaces(t *testing.T, req *jail.OpenRequest, reply jail.OpenReply) {
	t.Helper()
	for _, g := range reply.Grants {
		for _, ours := range append([]string{"/proc", "/etc", "/dev", "/run", "/usr", "/tmp", req.User.Home}, req.SystemDirs...) {
			if jail.Within(g.Path, ours) {
				t.Fatalf("%s is or contains %s", g.Path, ours)
			}
		}
		for _, list := range [][]jail.OpenName{g.Held, g.ReadOnly, g.Masked} {
			for _, n := range list {
				if p := filepath.Join(g.Path, n.Name); p == g.Path || !jail.Within(g.Path, p) {
					t.Fatalf("the name %q leads out of %s", n.Name, g.Path)
				}
			}
		}
	}
}
