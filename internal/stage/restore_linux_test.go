package stage

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A scout that lies about what is at a place has nothing mounted elsewhere.
func TestS09_NothingIsMountedElsewhere(t *testing.T) {
	fs, err := newTmpfs(0o755, 0, 0, 4096, quiet) // of which nothing is attached to the node
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fs), "place")
	defer f.Close()
	on, err := mountID(number(f))
	if err != nil {
		t.Fatal(err)
	}
	lost := Lost{Protection: Protection{Path: "/w/.git/config", Op: OpPin, Dir: true}, At: f, On: on + 1}
	if err := Restore([]Lost{lost}); !errors.Is(err, unix.EXDEV) {
		t.Errorf("restored on another mount: %v", err)
	}
}

func TestS09_WhatHasSomethingBelowItIsNotRestorable(t *testing.T) {
	list := []Protection{
		{Path: "/w/.git", Op: OpHold, Dir: true}, {Path: "/w/.git/config", Op: OpPin}, {Path: "/w/.git/hooks", Op: OpPin, Dir: true},
		{Path: "/w/.env", Op: OpHide}, {Path: "/w/ro", Op: OpPin, Dir: true}, {Path: "/w/ro/sock", Op: OpHide},
		{Path: "/w/link", Op: OpPin, Link: true}, {Path: "/w/in", Op: OpNest, Dir: true},
	}
	for i, want := range []bool{false, true, true, true, false, true, false, false} {
		if got := list[i].Restorable(list); got != want {
			t.Errorf("%+v: %v", list[i], got)
		}
	}
}
