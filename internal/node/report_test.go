package node

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// able returns the facts of a node that can do everything, but for those named.
func able(but ...Fact) Facts {
	var f Facts
	for _, n := range []Name{
		Root, Bwrap, BwrapUsable, Drop, Bare, MountByFD, SafeOpen, Pidfd, DevPTS, Seccomp, Landlock, Wall, Network, Steering, Fence,
		KillGroup, CgroupV2, Memory, Swap, Pids, CPU, NodeMounts, CoreLimit, PeerPidfd,
	} {
		fact := Fact{Name: n, Answer: Yes, Detail: "seen"}
		if i := slices.IndexFunc(but, func(b Fact) bool { return b.Name == n }); i >= 0 {
			fact = but[i]
		}
		f.Facts = append(f.Facts, fact)
	}
	return f
}

func no(n Name) Fact { return Fact{Name: n, Answer: No, Detail: "absent", Fix: "install it"} }

func dunno(n Name) Fact { return Fact{Name: n, Detail: "unclear", Fix: "try again"} }

func without(drop ...jail.Guarantee) []jail.Guarantee {
	return slices.DeleteFunc(slices.Clone(jail.Guarantees), func(g jail.Guarantee) bool { return slices.Contains(drop, g) })
}

func TestGuaranteesFollowFromFacts(t *testing.T) {
	for _, tc := range []struct {
		what  string
		facts Facts
		want  []jail.Guarantee // nil: cannot run
		exit  int
	}{
		{"everything", able(), jail.Guarantees, 0},
		{"nothing was probed", Facts{}, nil, 2},
		{"no bwrap", able(no(Bwrap)), nil, 2},
		{"bwrap too old", able(no(BwrapUsable)), nil, 2},
		{"not root", able(no(Root)), nil, 2},
		{"the drop failed", able(no(Drop)), nil, 2},
		{"the drop was not tried", able(dunno(Drop)), nil, 2},
		{"no seccomp", able(no(Seccomp)), without(jail.Syscalls, jail.NetworkOnlyProxy), 1},
		{"no network namespace", able(no(Network)), without(jail.NetworkOnlyProxy, jail.Observed), 1},
		{"unclear network", able(dunno(Network)), without(jail.NetworkOnlyProxy, jail.Observed), 1},
		{"no sk_lookup", able(no(Steering)), without(jail.Observed), 1},
		{"no landlock", able(no(Landlock)), without(jail.NetworkOnlyProxy), 1},
		{"no memory controller", able(no(Memory)), without(jail.LimitsHeld), 1},
		{"no controller of processor time", able(no(CPU)), without(jail.LimitsHeld), 1},
		{"no cgroups", able(no(KillGroup)), without(jail.LimitsHeld, jail.NoTrace), 1},
		{"no wall in jails", able(no(Wall)), jail.Guarantees, 1},
		{"own mounts", able(no(NodeMounts)), jail.Guarantees, 1},
	} {
		tc.facts.Facts = slices.DeleteFunc(tc.facts.Facts, func(f Fact) bool { return f.Name == Bare }) // bwrap or nothing
		given, runs := tc.facts.Guarantees()[Bubblewrap]
		if runs != (tc.want != nil) || runs && !slices.Equal(given, tc.want) {
			t.Errorf("%s: %v, %v; want %v", tc.what, given, runs, tc.want)
		}
		if r := tc.facts.Report(nil); r.Exit != tc.exit {
			t.Errorf("%s: exit %d, want %d", tc.what, r.Exit, tc.exit)
		}
	}
}

func TestEveryGuaranteeRestsOnSomething(t *testing.T) {
	for _, b := range backends {
		for _, g := range jail.Guarantees {
			if len(b.needs[g]) == 0 {
				t.Errorf("%s gives %s for nothing", b.name, g)
			}
			for _, n := range slices.Concat(b.run, b.needs[g]) {
				if missing := able(no(n)).Missing(b.name, g); !slices.Contains(missing, no(n)) {
					t.Errorf("%s without %s keeps %s: %v", b.name, n, g, missing)
				}
			}
		}
	}
	if missing := able().Missing("linux_magic", jail.Files); len(missing) == 0 {
		t.Error("an unknown backend gives guarantees")
	}
}

func TestRequiredGuarantees(t *testing.T) {
	facts := able(no(Memory))
	for _, tc := range []struct {
		require, lacking []jail.Guarantee
		exit             int
	}{
		{[]jail.Guarantee{jail.Files, jail.Syscalls}, nil, 1},
		{[]jail.Guarantee{jail.Files, jail.LimitsHeld}, []jail.Guarantee{jail.LimitsHeld}, 2},
		{[]jail.Guarantee{"perfection"}, []jail.Guarantee{"perfection"}, 2},
	} {
		r := facts.Report(tc.require)
		if !slices.Equal(r.Lacking, tc.lacking) || r.Exit != tc.exit {
			t.Errorf("require %v: lacking %v, exit %d; want %v, %d", tc.require, r.Lacking, r.Exit, tc.lacking, tc.exit)
		}
	}
}

func TestReportRoundTripsAsJSON(t *testing.T) {
	want := able(no(Memory), dunno(Network)).Report([]jail.Guarantee{jail.LimitsHeld})
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%s", err, text)
	}
	var a Answer
	if err := a.UnmarshalText([]byte("maybe")); err == nil {
		t.Error("maybe is an answer")
	}
}

func TestWithoutBwrapThereIsLandlock(t *testing.T) {
	for _, tc := range []struct {
		what  string
		facts Facts
		want  []string
		exit  int
	}{
		{"both", able(), []string{Bubblewrap, Alone}, 0},
		{"no bwrap", able(no(Bwrap)), []string{Alone}, 1},
		{"no wall", able(no(Wall)), []string{Bubblewrap}, 1},
		{"namespaces cannot be had", able(no(Bwrap), no(Bare)), nil, 2},
		{"neither", able(no(Bwrap), no(Wall)), nil, 2},
	} {
		given := tc.facts.Guarantees()
		got := slices.DeleteFunc(Names(), func(name string) bool { return given[name] == nil })
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
		if r := tc.facts.Report(nil); r.Exit != tc.exit {
			t.Errorf("%s: exit %d, want %d", tc.what, r.Exit, tc.exit)
		}
	}
	if Refuses(Alone, jail.WeakNestedSandbox) == "" || Refuses(Alone, jail.WeakPtrace) != "" || Refuses(Bubblewrap, jail.WeakNestedSandbox) != "" {
		t.Error("a weakening is refused by the wrong backend")
	}
}
