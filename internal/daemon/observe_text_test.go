package daemon

import (
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// What an observer says is worded with the line that decided; what it says of
// itself is neither printed as it is nor turned into a command that means more.
func TestS24_WhatAnObserverSaysIsQuoted(t *testing.T) {
	spec := &jail.Spec{Policy: jail.PolicyRef{Name: "p"}}
	spec.View.Grants = []jail.Grant{{Path: "/w", Origin: "the working directory"}, {Path: "/data", Write: true, Origin: "p.yaml:3"}}
	spec.View.Masks = []jail.Mask{{Path: "/w/secret", Origin: "p.yaml:9"}}
	r := newRefusal(spec, child.OpenReply{Cwd: "/w", Grants: []child.OpenGrant{{Path: "/w", Dir: true}, {Path: "/data", Dir: true, Write: true}}})
	for name, c := range map[string]struct {
		seen                     child.Observation
		text, grant, fix, origin string
	}{
		"a new file": {child.Observation{Kind: child.ObservedWrite, What: "/w/out", Grant: "/w"},
			`write refused: ./out (the directory is read-only in policy "p")`, "/w", "omnijailctl exec --write . -- …", "the working directory"},
		"elsewhere": {child.Observation{Kind: child.ObservedWrite, What: "/x/y", Grant: "/x/y"},
			`write refused: /x/y (it is not in the jail by policy "p")`, "/x/y", "omnijailctl exec --write '/x/y' -- …", ""},
		"a protected file": {child.Observation{Kind: child.ObservedWrite, What: "/data/.git/config", Grant: "/data/.git/config"},
			`write refused: /data/.git/config (it is protected, since it is used outside the jail)`, "", "", "p.yaml:3"},
		"a masked file": {child.Observation{Kind: child.ObservedRead, What: "/w/secret/k", Grant: "/w/secret/k", Hidden: true},
			`read refused: ./secret/k (it is hidden in the jail)`, "", "", "p.yaml:9"},
		"a hidden entry": {child.Observation{Kind: child.ObservedRead, What: "/w/.x/k", Grant: "/w/.x/k", Hidden: true},
			`read refused: ./.x/k (it is hidden in the jail)`, "", `cwd_allow_hidden: [".x"]`, ""},
		"a hidden entry of credentials": {child.Observation{Kind: child.ObservedRead, What: "/w/.env", Grant: "/w/.env", Hidden: true},
			`read refused: ./.env (it is hidden in the jail)`, "", "", ""},
		"credentials": {child.Observation{Kind: child.ObservedRead, What: "/h/.aws/config", Grant: "/h/.aws/config"},
			`read refused: /h/.aws/config (policy "p" has no line that grants it, and it may hold credentials: let credential_proxy attach them outside)`, "", "", ""},
		"a shell": {child.Observation{Kind: child.ObservedRead, What: "/h/$(id)'", Grant: "/h/$(id)'"},
			`read refused: /h/$(id)' (policy "p" has no line that grants it)`, "/h/$(id)'", `omnijailctl exec --read '/h/$(id)'\''' -- …`, ""},
		"a terminal": {child.Observation{Kind: child.ObservedRead, What: "/h/\x1b[2J", Grant: "/h/\x1b[2J"},
			`read refused: /h/\u{1b}[2J (policy "p" has no line that grants it)`, "", "", ""},
		"a call": {child.Observation{Kind: child.ObservedCall, What: "ptrace", Weaken: "ptrace"},
			"system call refused: ptrace (the filter of every jail refuses it)", "", `weaken: ["ptrace"] (gives safety away; not together with observe)`, ""},
		"a ping": {child.Observation{Kind: child.ObservedCall, What: "socket"},
			"denied ICMP or raw IP: nothing but TCP and DNS leaves a jail; the kernel refused it at once", "", "", ""},
		"a weakening of its own": {child.Observation{Kind: child.ObservedCall, What: "x\n", Weaken: "open_network"},
			`system call refused: x\u{a} (the filter of every jail refuses it)`, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rec, text, ok := r.of(c.seen)
			if !ok || text != c.text || rec.Grant != c.grant || rec.Fix != c.fix || rec.Origin != c.origin {
				t.Errorf("%v %q\n%+v", ok, text, rec)
			}
			if strings.ContainsAny(rec.Path+rec.Method+rec.Fix, "\x1b\n") {
				t.Errorf("%+v", rec)
			}
		})
	}
	for _, bad := range []child.Observation{{Kind: "other"}, {Kind: child.ObservedRead, What: "relative", Grant: "relative"}, {Kind: child.ObservedWrite, What: "/x"}} {
		if rec, text, ok := r.of(bad); ok {
			t.Errorf("%+v became %q, %+v", bad, text, rec)
		}
	}
}

func TestASizeIsDoubledAsAFlagTakesIt(t *testing.T) {
	for n, want := range map[int64]string{512 << 20: "1g", 64 << 20: "128m", 1 << 30: "2g", 1: "1m", 700 << 20: "1400m"} {
		got := twice(n)
		if got != want {
			t.Errorf("%d: %s", n, got)
		}
		if size, err := jail.ParseSize(got); err != nil || size < n {
			t.Errorf("%s: %d, %v", got, size, err)
		}
	}
}
