package policy

import (
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/jail"
	machine "github.com/omnijail/omnijail/internal/node"
)

// backends are the words for what enforces; the second list is not built.
var (
	backends      = []string{machine.Bubblewrap, machine.Alone}
	backendsLater = []string{"darwin_seatbelt"}
)

// weakenings are the ones that this build can give away.
var weakenings = []jail.Weakening{
	jail.WeakPtrace, jail.WeakNestedSandbox, jail.WeakCompatABI, jail.WeakPrivateDestinations, jail.WeakGitConfig,
	jail.WeakPassthrough, jail.WeakOpenNetwork, jail.WeakNoIsolation,
	jail.WeakControlSockets, jail.WeakUnixSockets, jail.WeakHardlinks,
}

func (d *decoder) extends(key string, n *node) {
	for i, item := range d.items(key, n, true) {
		s := d.str(index(key, i), item)
		if strings.ContainsAny(s, "/~") || strings.HasSuffix(s, ".yaml") {
			d.add(Error{Pos: item.at, Key: index(key, i), Msg: "extends takes names, not files",
				Fix: "put the file into ~/.config/omnijail/policies and name it"})
		} else if s = d.name(index(key, i), item); s != "" {
			d.doc.Extends = append(d.doc.Extends, Item{s, item.at})
		}
	}
}

func (d *decoder) caller(key string, n *node) {
	d.doc.Caller = []string{}
	for i, item := range d.items(key, n, false) {
		if s := d.oneOf(index(key, i), item, callerKeys...); s != "" {
			d.doc.Caller = appendNew(d.doc.Caller, s)
		}
	}
	if !slices.Contains(d.doc.Caller, "cwd") {
		d.errorf(n.at, key, "must list cwd: a policy cannot name a working directory of its own")
	}
}

func (d *decoder) backend(key string, n *node) {
	for i, item := range d.items(key, n, true) {
		k := key
		if n.kind == list {
			k = index(key, i)
		}
		switch s := d.oneOf(k, item, slices.Concat(backends, backendsLater, []string{machine.Nothing})...); {
		case s == "":
		case slices.Contains(backendsLater, s):
			d.later(item.at, k+": "+s)
		default:
			d.doc.Backend = appendNew(d.doc.Backend, s)
		}
	}
}

// filtered are the weakenings that choose another system call filter. There is
// one filter for each, none for two together.
var filtered = []jail.Weakening{jail.WeakPtrace, jail.WeakNestedSandbox, jail.WeakCompatABI}

func (d *decoder) weaken(key string, n *node) {
	var filter string
	for i, w := range d.words(key, n) {
		switch v, err := jail.ParseWeakening(w.Text); {
		case err != nil:
			d.errorf(w.At, index(key, i), "%v", err)
		case !slices.Contains(weakenings, v):
			d.later(w.At, index(key, i)+": "+w.Text)
		case slices.Contains(filtered, v) && filter != "" && filter != w.Text:
			d.errorf(w.At, index(key, i), "%s and %s cannot be given together", filter, w.Text)
		default:
			if slices.Contains(filtered, v) {
				filter = w.Text
			}
			d.doc.Weaken = append(d.doc.Weaken, w)
		}
	}
}

func (d *decoder) env(key string, n *node) {
	if n.kind != mapping {
		d.errorf(n.at, key, "must be a mapping of names to values, not %v", n.kind)
		return
	}
	d.doc.Env = map[string]string{}
	for _, f := range n.fields {
		if msg := checkEnvName(f.name); msg != "" {
			d.errorf(f.at, child(key, f.name), "%s", msg)
			continue
		}
		switch v := f.value; {
		case v.kind != scalar || v.tag == tagNull:
			d.errorf(v.at, child(key, f.name), "must be a string")
		case strings.ContainsRune(v.text, 0):
			d.errorf(v.at, child(key, f.name), "holds a NUL")
		default:
			// A number or a boolean is taken as it is written: PORT: 8080.
			d.doc.Env[f.name] = v.text
		}
	}
}

func (d *decoder) passthrough(key string, n *node) {
	for i, w := range d.words(key, n) {
		if msg := checkEnvName(w.Text); msg != "" {
			d.errorf(w.At, index(key, i), "%s", msg)
			continue
		}
		d.doc.Passthrough = append(d.doc.Passthrough, w)
	}
}

// protectNew takes what becomes of a file that would run by itself outside.
func (d *decoder) protectNew(key string, n *node) {
	d.doc.ProtectNew = Item{d.oneOf(key, n, "quarantine", "detect"), n.at}
}

// onReplaced takes what becomes of a command whose protected files are replaced
// outside.
func (d *decoder) onReplaced(key string, n *node) {
	d.doc.OnReplaced = Item{d.oneOf(key, n, "kill", "restage"), n.at}
}

// checkEnvName says what is wrong with the name of a variable, empty if nothing.
func checkEnvName(s string) string {
	switch {
	case !creds.ValidEnv(s):
		return "is not the name of a variable"
	case strings.HasPrefix(s, "OMNIJAIL"):
		return "is omnijail's own: OMNIJAIL and OMNIJAIL_ID are set in every jail"
	}
	return ""
}

// networkSwitch judges allow_network, which only the reference needs: here
// rules are the switch.
func (d *decoder) networkSwitch() {
	n, has := d.allowNetwork, len(d.doc.Rules) > 0
	switch {
	case n == nil || !n.isBool():
		if d.reference && !has {
			d.notes = append(d.notes, "no egress_rules, so no network (the reference's default was the node's network)")
		}
	case n.text == "false" && has:
		d.errorf(n.at, "allow_network", "is false, and %s has a rule: remove one of the two", d.doc.Rules[0].At)
	}
}
