package suggest

import (
	"path"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/policy"
)

// files adds the paths that observation saw refused.
func (s *Suggestion) files(recs []audit.Record) {
	var read, write, closed []string
	sayable := map[string]bool{}
	for _, r := range recs {
		if r.Kind != audit.KindDenial || r.Decision != audit.Deny {
			continue
		}
		switch audit.Code(r.Code) {
		case audit.CodeFileRead, audit.CodeFileWrite:
		default:
			continue
		}
		if _, ok := sayable[r.Grant]; !ok && r.Grant != "" && len(sayable) < mostPaths {
			_, err := policy.Addition{Read: []string{r.Grant}}.YAML()
			sayable[r.Grant] = err == nil
		}
		switch {
		case r.Grant != "" && !sayable[r.Grant]:
			s.leave("%s: a policy cannot name it", r.Grant)
		case r.Grant == "":
			s.leave("%s: %s", r.Path, r.Reason)
			closed = appendNew(closed, r.Path)
		case r.Code == string(audit.CodeFileWrite):
			write = appendNew(write, r.Grant)
		default:
			read = appendNew(read, r.Grant)
		}
	}
	s.Write = gather(write, closed)
	for _, p := range gather(read, closed) {
		if !slices.ContainsFunc(s.Write, func(w string) bool { return within(w, p) }) {
			s.Read = append(s.Read, p)
		}
	}
	for _, p := range s.Read {
		s.because("%s: not in the jail, and looked for", p)
	}
	for _, p := range s.Write {
		s.because("%s: not writable, and written to", p)
	}
}

// gather sorts paths, drops those below another, and takes the directory where at
// least as many entries of one were wanted as make a form. It is not taken where it
// would give what was refused for good, or where tools keep credentials.
func gather(paths, closed []string) (out []string) {
	siblings := map[string]int{}
	whole := func(d string) bool {
		return narrow(d) && !policy.HoldsCredentials(d) && !slices.ContainsFunc(closed, func(c string) bool { return within(d, c) })
	}
	for _, p := range paths {
		siblings[path.Dir(p)]++
	}
	for _, p := range paths {
		if d := path.Dir(p); siblings[d] > alike && whole(d) {
			p = d
		}
		out = appendNew(out, p)
	}
	slices.Sort(out)
	kept := out[:0]
	for _, p := range out {
		if len(kept) == 0 || !within(kept[len(kept)-1], p) {
			kept = append(kept, p)
		}
	}
	return kept
}

// narrow reports whether a directory may stand for its entries: never one that
// holds homes or is one.
func narrow(dir string) bool { return strings.Count(dir, "/") > 2 }

// within reports whether p is dir or lies in it.
func within(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
