package policy

import (
	"fmt"
	"slices"
	"strings"
)

// checkClosed refuses what a request may not set on a closed policy: whoever
// may run the operator's policy may not change what the operator's secrets are
// used for.
func checkClosed(d *Document, req Request, rep *report) {
	if !d.Closed {
		return
	}
	allowed := d.requestKeys()
	for _, set := range []struct {
		key string
		is  bool
	}{
		{"cwd", req.Cwd != ""},
		{"tty", req.TTY},
		{"timeout", req.Limits.Timeout != 0},
		{"env", len(req.Env) > 0},
		{"preset", len(req.Add.Presets) > 0},
		{"write", len(req.Add.Write) > 0},
		{"read", len(req.Add.Read) > 0},
		{"allow", len(req.Add.Allow) > 0},
		{"backend", req.Backend != ""},
		{"publish", len(req.Publish) > 0},
		{"node_port", len(req.NodePorts) > 0},
	} {
		if set.is && !slices.Contains(allowed, set.key) {
			rep.add(Error{Pos: Pos{File: d.Ref.Origin}, Key: set.key, Code: "policy_closed",
				Msg: fmt.Sprintf("policy %q is the operator's and lets a request set only %s", d.Ref.Name, strings.Join(allowed, ", ")),
				Fix: "run it without this, or with a policy of your own"})
		}
	}
}

// requestKeys are what a request may set; nil for anything.
func (d *Document) requestKeys() []string {
	switch {
	case !d.Closed:
		return nil
	case d.Caller == nil:
		return DefaultCaller
	}
	return d.Caller
}

// checkOwn refuses additions by a caller who may only use policies as they are.
func checkOwn(req Request, rep *report) {
	if req.Own {
		return
	}
	for key, n := range map[string]int{
		"write": len(req.Add.Write), "read": len(req.Add.Read), "allow": len(req.Add.Allow),
		"publish": len(req.Publish), "node_port": len(req.NodePorts),
	} {
		if n > 0 {
			rep.add(Error{Key: key, Code: "policy_access",
				Msg: "your access includes named policies only, so nothing can be added to one",
				Fix: "the operator can grant it: policies: [own] in your access entry of omnijaild.yaml"})
		}
	}
}

// checkSecretFDs refuses secrets that the policy does not ask for. One that it
// asks for and that is not sent is a source without a value.
func checkSecretFDs(d *Document, req Request, rep *report) {
	wanted := d.EnvSources()
	var seen []string
	for _, name := range req.SecretFDs {
		switch {
		case !slices.Contains(wanted, name):
			rep.add(Error{Key: "secret_fds", Code: "policy_closed",
				Msg: fmt.Sprintf("%.64q is no env source of policy %q", name, d.Ref.Name)})
		case slices.Contains(seen, name):
			rep.add(Error{Key: "secret_fds", Msg: fmt.Sprintf("%q is sent twice", name)})
		}
		seen = append(seen, name)
	}
}

// maxPresets bounds the presets that a request may add. There are not as many, and
// each is read and merged anew.
const maxPresets = 64

// added returns the document with what the request adds. Presets go below it,
// so that its own scalars stand; denials of either stay.
func added(d *Document, req Request, rep *report) *Document {
	if len(req.Add.Presets)+len(req.Add.Write)+len(req.Add.Read)+len(req.Add.Allow) == 0 {
		return d
	}
	if n := len(req.Add.Presets); n > maxPresets {
		rep.errorf(Pos{File: "--preset"}, "", "%d presets, more than %d", n, maxPresets)
		return d
	}
	var base *node
	for _, name := range req.Add.Presets {
		at := Pos{File: "--preset"}
		if ValidName(name) {
			at.File += " " + name
		}
		base = merge(base, flatten(readPreset(name, "preset", at, rep), nil, rep))
	}
	n := merge(base, d.tree)
	extra := &node{kind: mapping}
	for key, words := range map[string][]string{
		"write_paths": req.Add.Write, "read_paths": req.Add.Read, "egress_rules": req.Add.Allow,
	} {
		flag := map[string]string{"write_paths": "--write", "read_paths": "--read", "egress_rules": "--allow"}[key]
		for _, w := range words {
			extra.extend(key, &node{text: w, at: Pos{File: flag}})
		}
	}
	if len(rep.errs) > 0 {
		return d
	}
	n = merge(n, extra)
	out := decodeNative(n, false, rep)
	out.tree = n
	out.Ref, out.Closed, out.Files, out.Notes = d.Ref, d.Closed, d.Files, d.Notes
	return out
}
