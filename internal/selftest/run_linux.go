package selftest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Config says how and where to run the suite. Program is required.
type Config struct {
	Program  string   // omnijailctl, or what has its verbs exec and probe
	Globals  []string // flags of every call of it, such as --socket
	Socket   string   // where the daemon listens; attempts try to reach it
	Policy   string   // a policy's name or file; empty: Policy
	Backend  string   // empty: the platform's default
	User     string   // whom root's jails run as
	UID, GID int      // the ids of User, 0 without
	Upstream string   // a name that answers https, allowed below /open/; empty: what needs one is not run

	write bool // the workspace may be asked for as writable
}

// width is how many jails run at a time. It changes in tests alone.
var width = 4

// Run makes every attempt, and reports. It fails only when no jail can be started
// at all, or when ctx ends.
func Run(ctx context.Context, config Config) (Report, error) {
	n, err := plant(ctx, config)
	defer n.raze()
	if err != nil {
		return Report{}, fmt.Errorf("prepare the escape suite: %w", err)
	}
	if out, err := n.start(ctx, nil, n.self, "probe", "--site", "{}").CombinedOutput(); err != nil {
		return Report{}, fmt.Errorf("this program cannot be started in a jail (%w): %s", err, bytes.TrimSpace(out))
	}
	_, err = n.start(ctx, []string{"--write", n.work}, "true").CombinedOutput()
	n.config.write = err == nil
	r := n.run()
	return r, ctx.Err()
}

// run makes the attempts of n.
func (n *node) run() Report {
	all := All()
	findings := make([]Finding, len(all))
	var work sync.WaitGroup
	slots := make(chan struct{}, width)
	do := func(f func()) {
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f()
		})
	}
	for _, g := range groups {
		do(func() { n.runGroup(g, all, findings) })
	}
	for i, a := range all {
		if a.drive != nil {
			do(func() { findings[i] = a.drive(n) })
		}
	}
	work.Wait()
	for i, a := range all {
		if a.after != nil {
			findings[i] = a.after(n, findings[i])
		}
	}
	return report(n, all, findings)
}

func (n *node) runGroup(g group, all []Attempt, findings []Finding) {
	var names []string
	for _, a := range all {
		if a.probe != nil && a.group == g {
			names = append(names, a.Name)
		}
	}
	found := n.probe(g, names)
	for i, a := range all {
		if slices.Contains(names, a.Name) {
			findings[i] = found[a.Name]
		}
	}
}

func report(n *node, all []Attempt, findings []Finding) Report {
	r := Report{Policy: n.config.Policy, Backend: n.config.Backend}
	if r.Policy == "" {
		r.Policy = "the suite's own"
	}
	for i, a := range all {
		if findings[i].Result == "" {
			findings[i] = notRun("nothing is known of it")
		}
		r.Attempts = append(r.Attempts, Entry{a.Name, a.Tries, a.Must, a.Guarantee, findings[i]})
		switch findings[i].Result {
		case Refused:
			r.Passed++
		case Succeeded:
			r.Failed++
		default:
			r.NotRun++
		}
	}
	return r
}

// All lists the suite in the order in which it is reported.
func All() []Attempt {
	return slices.Concat(
		fileAttempts(), writeAttempts(), readonlyAttempts(), protectedAttempts(), ipcAttempts(), startAttempts(), handOverAttempts(), carriedAttempts(),
		identityAttempts(), suidAttempts(), processAttempts(), procAttempts(), terminalAttempts(),
		callAttempts(), namespaceAttempts(), compatAttempts(), socketAttempts(),
		networkAttempts(), deviceAttempts(), dnsAttempts(), httpAttempts(), credentialAttempts(),
		limitAttempts(), lingerAttempts(), traceAttempts())
}

func itoa(n int) string { return strconv.Itoa(n) }
