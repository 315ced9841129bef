package selftest

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// patience bounds one attempt. What must be refused must be refused at once. It
// changes in tests alone.
var patience = 5 * time.Second

// line is one attempt's end on the way out of a jail.
type line struct {
	Attempt string `json:"attempt"`
	Finding
}

// Probe makes the named attempts, here and now, and writes one line of JSON for
// each. It is called inside jails. An unknown name is an error; an attempt that
// fails is not.
func Probe(site Site, names []string, w io.Writer) error {
	all := map[string]Attempt{}
	for _, a := range All() {
		all[a.Name] = a
	}
	enc := json.NewEncoder(w)
	for _, name := range names {
		a, ok := all[name]
		if !ok || a.probe == nil {
			return fmt.Errorf("there is no attempt %q to make in a jail", name)
		}
		f := notRun("the node has no %s", a.needs)
		if !slices.Contains(site.Absent, a.needs) {
			f = attempt(a, &site)
		}
		if err := enc.Encode(line{name, f}); err != nil {
			return err
		}
	}
	return nil
}

// attempt runs one on a thread of its own, which is thrown away: a call may have
// changed it.
func attempt(a Attempt, site *Site) Finding {
	done := make(chan Finding, 1)
	go func() {
		runtime.LockOSThread() // never unlocked
		defer func() {
			if r := recover(); r != nil {
				done <- notRun("the attempt itself failed: %v\n%s", r, debug.Stack())
			}
		}()
		done <- a.probe(site)
	}()
	select {
	case f := <-done:
		return f
	case <-time.After(2 * patience):
		return succeeded("it was neither refused nor over within %v", 2*patience)
	}
}
