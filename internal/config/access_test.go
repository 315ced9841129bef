package config

import (
	"slices"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// names is a user database with one user and one group.
var names = Names{
	User:  func(n string) (uint32, bool) { return 1001, n == "alice" },
	Group: func(n string) (uint32, bool) { return 2000, n == "omnijail" },
}

func TestFirstEntryThatMatchesDecides(t *testing.T) {
	entries := []Access{
		{Users: []string{"alice"}, Policies: []string{"first"}},
		{Users: []string{"1001", "1002"}, Groups: []string{"omnijail"}, Policies: []string{"second"}},
		{Groups: []string{"2001"}, Policies: []string{"third"}},
		{Users: []string{"1001", "alice"}, Groups: []string{"2000", "2001"}, Confined: true, Policies: []string{"confined"}},
		{Users: []string{"nobody-has-it"}, Groups: []string{"nobody-has-it"}, Policies: []string{"never"}},
		{Policies: []string{"never"}},
	}
	for name, tt := range map[string]struct {
		s    Subject
		want string // the policy of the entry; empty: refused
	}{
		"by name":                           {Subject{UID: 1001}, "first"},
		"by name, though a group fits too":  {Subject{UID: 1001, Groups: []uint32{2001}}, "first"},
		"by id":                             {Subject{UID: 1002}, "second"},
		"by a group's name":                 {Subject{UID: 1, Groups: []uint32{5, 2000}}, "second"},
		"by a group's id":                   {Subject{UID: 1, Groups: []uint32{2001}}, "third"},
		"both groups":                       {Subject{UID: 1, Groups: []uint32{2001, 2000}}, "second"},
		"confined, by name":                 {Subject{UID: 1001, Confined: true}, "confined"},
		"confined, by group":                {Subject{UID: 1, Groups: []uint32{2001}, Confined: true}, "confined"},
		"confined, without an entry for it": {Subject{UID: 1002, Confined: true}, ""},
		"nobody's":                          {Subject{UID: 7, Groups: []uint32{7}}, ""},
		"a uid that is a group's id":        {Subject{UID: 2001}, ""},
		"a gid that is a user's id":         {Subject{UID: 7, Groups: []uint32{1001}}, ""},
		"confined root":                     {Subject{UID: 0, Confined: true}, ""},
		"the overflow id":                   {Subject{UID: 65534, Groups: []uint32{65534}}, ""},
	} {
		got := Decide(entries, tt.s, names)
		if (got == nil) != (tt.want == "") || got != nil && got.Policies[0] != tt.want {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
	}
	if got := Decide(entries, Subject{UID: 1001}, Names{}); got == nil || got.Policies[0] != "second" {
		t.Errorf("without a user database: %+v", got)
	}
	if got := Decide(nil, Subject{UID: 1001}, names); got != nil {
		t.Errorf("without entries: %+v", got)
	}
}

func TestRootHasAllWithoutAnEntry(t *testing.T) {
	got := Decide(nil, Subject{UID: 0}, Names{})
	if got == nil || !got.MayUse("any", false) || !got.MayUse("", true) || !slices.Contains(got.Sources, "systemd") || got.Jails <= defaultJails {
		t.Fatalf("%+v", got)
	}
	for _, w := range jail.Weakenings {
		if !slices.Contains(got.Weaken, string(w)) {
			t.Errorf("root may not %s", w)
		}
	}
}

func TestS06_WhatTheDefaultGives(t *testing.T) {
	entries := []Access{DefaultAccess("2000")}
	member := Subject{UID: 1, Groups: []uint32{2000}}
	a := Decide(entries, member, Names{})
	if a == nil || len(a.Weaken) != 0 || slices.Contains(a.Sources, "systemd") {
		t.Errorf("a member gets %+v", a)
	}
	member.Confined = true
	if a := Decide(entries, member, Names{}); a != nil {
		t.Errorf("a confined member gets %+v", a)
	}
}

func TestMayUse(t *testing.T) {
	for _, tt := range []struct {
		policies          []string
		named, other, own bool
	}{
		{[]string{"own", "*"}, true, true, true},
		{[]string{"*"}, true, true, false},
		{[]string{"own"}, false, false, true},
		{[]string{"corp"}, true, false, false},
		{nil, false, false, false},
	} {
		a := &Access{Policies: tt.policies}
		if a.MayUse("corp", false) != tt.named || a.MayUse("other", false) != tt.other || a.MayUse("corp", true) != tt.own {
			t.Errorf("%q: %v %v %v", tt.policies, a.MayUse("corp", false), a.MayUse("other", false), a.MayUse("corp", true))
		}
	}
}
