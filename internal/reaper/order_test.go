package reaper

import (
	"reflect"
	"testing"
)

func sample() Order {
	return Order{
		Init: 6, Channel: 7, Status: 8, Filter: "default", Root: "/root",
		ReadOnly: []string{"/proc/sys"}, Covers: []Cover{{"/empty/file", "/proc/kcore"}},
	}
}

func TestOrderRoundTrip(t *testing.T) {
	got, err := Parse(sample().Args())
	if err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Order){
		"a standard descriptor":   func(o *Order) { o.Init = 2 },
		"descriptors out of turn": func(o *Order) { o.Status = 5 },
		"no root":                 func(o *Order) { o.Root = "" },
		"the node's root":         func(o *Order) { o.Root = "/" },
		"a relative root":         func(o *Order) { o.Root = "root" },
		"a cover outside":         func(o *Order) { o.Covers[0].Dest = "/etc/passwd" },
		"a cover by dots":         func(o *Order) { o.Covers[0].Dest = "/proc/../etc" },
		"all of /proc":            func(o *Order) { o.ReadOnly[0] = "/proc" },
	} {
		o := sample()
		spoil(&o)
		if got, err := Parse(o.Args()); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, args := range [][]string{nil, sample().Args()[:5], append(sample().Args(), "cover"), append(sample().Args(), "root", "/x")} {
		if _, err := Parse(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func TestMainRefusesOutsideANamespaceOfItsOwn(t *testing.T) {
	if code := Main(sample().Args()); code != 125 {
		t.Errorf("exit code %d", code)
	}
}
