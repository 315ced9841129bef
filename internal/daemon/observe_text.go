package daemon

import (
	"fmt"
	"path"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// refusal words what an observer saw refused, with the line that decided and what
// to type.
type refusal struct {
	spec   *jail.Spec
	cwd    string
	grants []child.OpenGrant
}

func newRefusal(spec *jail.Spec, opened child.OpenReply) refusal {
	return refusal{spec, opened.Cwd, opened.Grants}
}

// of returns the record and the sentence for the owner. What an observer says that
// makes no sense is nothing.
func (r refusal) of(seen child.Observation) (rec audit.Record, text string, ok bool) {
	rec = audit.Record{Kind: audit.KindDenial, Decision: audit.Deny, By: "observer"}
	switch seen.Kind {
	case child.ObservedCall:
		if seen.What == "socket" {
			return ping(rec)
		}
		rec.Code, rec.Method = string(audit.CodeSyscall), audit.Escape(seen.What)
		rec.Reason = "the filter of every jail refuses it"
		if w := jail.Weakening(seen.Weaken); w == jail.WeakPtrace || w == jail.WeakNestedSandbox {
			rec.Fix = policy.Line("weaken", string(w)) + " (gives safety away; not together with observe)"
		}
		return rec, fmt.Sprintf("system call refused: %s (%s)", rec.Method, rec.Reason), true
	case child.ObservedRead, child.ObservedWrite:
	default:
		return rec, "", false
	}
	if !path.IsAbs(seen.What) || !path.IsAbs(seen.Grant) {
		return rec, "", false
	}
	rec.Path = audit.Escape(seen.What)
	verb := "read"
	if seen.Kind == child.ObservedWrite {
		verb = "write"
		r.write(seen, &rec)
	} else {
		r.read(seen, &rec)
	}
	return rec, fmt.Sprintf("%s refused: %s (%s)", verb, audit.Escape(r.short(seen.What)), rec.Reason), true
}

// ping words a socket that was not given: of sockets the filter reports those of ICMP
// and of packets made by hand, which say only later where to.
func ping(rec audit.Record) (audit.Record, string, bool) {
	rec.Kind, rec.Code, rec.Method = audit.KindPacket, string(audit.CodePacket), "ICMP or raw IP"
	rec.Reason = reasons[audit.CodePacket]
	return rec, sentence(rec), true
}

// write words a refused write: by a protection, by a tree that is read-only, or
// for want of any line.
func (r refusal) write(seen child.Observation, rec *audit.Record) {
	rec.Code = string(audit.CodeFileWrite)
	tree, given := r.tree(seen.What)
	if given && tree.Write {
		rec.Origin = r.origin(tree.Path)
		rec.Reason = "it is protected, since it is used outside the jail"
		return
	}
	what := "the directory is"
	if seen.Grant == seen.What {
		what = "it is"
	}
	rec.Reason = fmt.Sprintf("%s not in the jail by policy %q", what, r.spec.Policy.Name)
	if given {
		rec.Origin = r.origin(tree.Path)
		rec.Reason = fmt.Sprintf("%s read-only in policy %q", what, r.spec.Policy.Name)
	}
	r.grant("--write", seen.Grant, rec)
}

// read words a file that is outside and that the command did not find.
func (r refusal) read(seen child.Observation, rec *audit.Record) {
	rec.Code = string(audit.CodeFileRead)
	if !seen.Hidden {
		rec.Reason = fmt.Sprintf("policy %q has no line that grants it", r.spec.Policy.Name)
		r.grant("--read", seen.Grant, rec)
		return
	}
	rec.Reason = "it is hidden in the jail"
	for _, m := range r.spec.View.Masks {
		if jail.Within(m.Path, seen.What) {
			rec.Origin = m.Origin
			return
		}
	}
	tree, _ := r.tree(seen.What)
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(seen.What, tree.Path), "/"), "/")
	if strings.HasPrefix(name, ".") && audit.Escape(name) == name && !strings.ContainsAny(name, "*?[") && !policy.HoldsCredentials(seen.What) {
		rec.Fix = policy.Line("cwd_allow_hidden", name)
	}
}

// grant adds the command that would let it, unless the file is one that no jail
// should be given.
func (r refusal) grant(flag, p string, rec *audit.Record) {
	switch {
	case policy.HoldsCredentials(p):
		rec.Reason += ", and it may hold credentials: let credential_proxy attach them outside"
	case audit.Escape(p) != p:
	default:
		rec.Grant = p
		word := audit.ShellQuote(p)
		if p == r.cwd {
			word = "."
		}
		rec.Fix = "omnijailctl exec " + flag + " " + word + " -- …"
	}
}

// tree is the innermost grant that a path lies in.
func (r refusal) tree(p string) (tree child.OpenGrant, ok bool) {
	for _, g := range r.grants {
		if jail.Within(g.Path, p) && len(g.Path) >= len(tree.Path) {
			tree, ok = g, true
		}
	}
	return tree, ok
}

// origin is the line that made a grant.
func (r refusal) origin(p string) string {
	for _, g := range r.spec.View.Grants {
		if g.Path == p {
			return g.Origin
		}
	}
	return ""
}

// short is a path as somebody in the working directory would write it.
func (r refusal) short(p string) string {
	if p == r.cwd {
		return "."
	}
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(r.cwd, "/")+"/"); ok {
		return "./" + rest
	}
	return p
}
