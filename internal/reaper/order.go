package reaper

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Order is what a reaper is told.
type Order struct {
	Init, Channel, Status int    // descriptors, ascending
	Filter                string // of the command: "default", or a weakening's
	Root                  string // the staged tree
	ReadOnly              []string
	Covers                []Cover
}

// Cover hides Dest, a path in the jail, behind Source, a path of the staging.
type Cover struct{ Source, Dest string }

var errOrder = errors.New("usage: reap INIT CHANNEL STATUS FILTER root DIR [read-only PATH | cover SOURCE PATH]…")

// firstDonated is the lowest descriptor beside the standard ones.
const firstDonated = 3

// Args returns o as the arguments of the verb. Parse is its inverse.
func (o Order) Args() []string {
	args := []string{strconv.Itoa(o.Init), strconv.Itoa(o.Channel), strconv.Itoa(o.Status), o.Filter, "root", o.Root}
	for _, p := range o.ReadOnly {
		args = append(args, "read-only", p)
	}
	for _, c := range o.Covers {
		args = append(args, "cover", c.Source, c.Dest)
	}
	return args
}

// Parse reads the arguments of the verb.
func Parse(args []string) (Order, error) {
	var o Order
	if len(args) < 6 {
		return o, errOrder
	}
	last := firstDonated - 1
	for i, to := range []*int{&o.Init, &o.Channel, &o.Status} {
		n, err := strconv.Atoi(args[i])
		if err != nil || n <= last {
			return o, fmt.Errorf("descriptor %q: %w", args[i], errOrder)
		}
		*to, last = n, n
	}
	o.Filter = args[3]
	for rest := args[4:]; len(rest) > 0; {
		n := 2
		switch {
		case rest[0] == "root" && len(rest) > 1 && o.Root == "" && clean(rest[1]):
			o.Root = rest[1]
		case rest[0] == "read-only" && len(rest) > 1 && inProc(rest[1]):
			o.ReadOnly = append(o.ReadOnly, rest[1])
		case rest[0] == "cover" && len(rest) > 2 && clean(rest[1]) && inProc(rest[2]):
			o.Covers = append(o.Covers, Cover{rest[1], rest[2]})
			n = 3
		default:
			return o, fmt.Errorf("%q: %w", rest[0], errOrder)
		}
		rest = rest[n:]
	}
	if o.Root == "" {
		return o, errOrder
	}
	return o, nil
}

func clean(p string) bool { return path.IsAbs(p) && path.Clean(p) == p && p != "/" }

// inProc holds paths to the one file system that is not staged.
func inProc(p string) bool { return clean(p) && strings.HasPrefix(p, "/proc/") }
