package bwrap_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/stage"
)

// preparable returns a layout and the part of it that every jail has.
func preparable(t *testing.T) (whole, common stage.Layout) {
	t.Helper()
	whole = layout()
	common = stage.Layout{System: whole.System}
	for i := range 300 {
		common.Files = append(common.Files, stage.File{Path: fmt.Sprintf("/etc/common/%d", i), Data: []byte("same\n"), Mode: 0o644})
	}
	whole.Files = append(whole.Files, common.Files...)
	return whole, common
}

func TestPreparedRootIsTheSame(t *testing.T) {
	r := newRig(t)
	const look = `cd /; ls -lR etc dev run | grep -v '^total' | sed 's/[A-Z][a-z][a-z] [ 0-9:]* //'; cat /etc/passwd /etc/common/* | cksum`
	whole, common := preparable(t)
	plain := r.sh(t, whole, noDescs, look)
	root, err := stage.Prepare(common)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := noDescs
	d.Root = root
	if ahead := r.sh(t, whole, d, look); ahead != plain {
		t.Errorf("with a prepared root:\n%s\nwithout:\n%s", ahead, plain)
	}
}

// A root that holds anything the plan does not have, or has otherwise, would
// show one jail what was meant for another.
func TestPreparedRootOfAnotherLayoutIsRefused(t *testing.T) {
	r := newRig(t)
	for name, spoil := range map[string]func(*stage.Layout){
		"a file more":  func(l *stage.Layout) { l.Files = append(l.Files, stage.File{Path: "/etc/other", Mode: 0o644}) },
		"other bytes":  func(l *stage.Layout) { l.Files[0].Data = []byte("same\n\n") },
		"another mode": func(l *stage.Layout) { l.Files[0].Mode = 0o600 },
		"a link more":  func(l *stage.Layout) { l.Links = []stage.Link{{Path: "/etc/l", Target: "x"}} },
	} {
		whole, common := preparable(t)
		spoil(&common)
		root, err := stage.Prepare(common)
		if err != nil {
			t.Fatal(err)
		}
		d := noDescs
		d.Root = root
		o := r.run(t, command{argv: []string{"/bin/true"}, layout: whole, descs: d})
		if o.err == nil || !strings.Contains(o.err.Error(), "another layout") {
			t.Errorf("%s: %v", name, o.err)
		}
		root.Close()
	}
	if _, err := stage.Prepare(stage.Layout{Files: []stage.File{{Path: "/usr/bin/sh"}}}); err == nil {
		t.Error("a file outside the composed trees was prepared")
	}
}
