package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// later are the keys of the language that this build does not enforce. Each is
// refused by name, because a policy that is obeyed in part is a trap.
var later = []string{
	"gpu",
}

// decoder reads a tree into a Document.
type decoder struct {
	*report
	doc          *Document
	allowNetwork *node // judged once the rules are known
	reference    bool  // the reference's spellings were used
	scratch      int64 // the other place of limits.scratch
}

type keyFunc func(d *decoder, key string, n *node)

// keys is the whole language of this build.
var keys = map[string]keyFunc{
	"name":             func(d *decoder, k string, n *node) { d.name(k, n) },
	"description":      func(d *decoder, k string, n *node) { d.doc.Description = d.str(k, n) },
	"extends":          (*decoder).extends,
	"caller":           (*decoder).caller,
	"backend":          (*decoder).backend,
	"weaken":           (*decoder).weaken,
	"read_paths":       func(d *decoder, k string, n *node) { d.doc.Read = d.paths(k, n) },
	"write_paths":      func(d *decoder, k string, n *node) { d.doc.Write = d.paths(k, n) },
	"mask_paths":       func(d *decoder, k string, n *node) { d.doc.Mask = d.paths(k, n) },
	"unix_sockets":     func(d *decoder, k string, n *node) { d.doc.Sockets = d.paths(k, n) },
	"cwd_allow_hidden": (*decoder).allowHidden,
	"cwd_hidden_scan":  (*decoder).hiddenScan,
	"protect":          (*decoder).protectItems,
	"protect_scan":     (*decoder).protectScan,
	"groups":           func(d *decoder, k string, n *node) { d.doc.Groups = d.words(k, n) },
	"env":              (*decoder).env,
	"env_passthrough":  (*decoder).passthrough,
	"egress_rules":     (*decoder).rules,
	"allow_network":    func(d *decoder, k string, n *node) { d.allowNetwork = n; d.boolean(k, n) },
	"credential_proxy": (*decoder).credentials,
	"on_misuse":        func(d *decoder, k string, n *node) { d.doc.OnMisuse = d.oneOf(k, n, "deny", "freeze") },
	"on_reflection":    func(d *decoder, k string, n *node) { d.doc.OnReflection = d.oneOf(k, n, "mask", "abort", "freeze") },
	"on_minted": func(d *decoder, k string, n *node) {
		d.doc.OnMinted = d.oneOf(k, n, "pass", "capture", "mask", "abort")
	},
	"protect_new":         (*decoder).protectNew,
	"on_replaced":         (*decoder).onReplaced,
	"deny_addresses":      func(d *decoder, k string, n *node) { d.doc.Denied = d.networks(k, n) },
	"placeholder_in_body": func(d *decoder, k string, n *node) { d.doc.BodyCheck = d.oneOf(k, n, "audit", "deny") == "deny" },
	"limits":              (*decoder).limits,
	"proxy_env":           func(d *decoder, k string, n *node) { d.doc.ProxyEnv = d.boolean(k, n) },
	"home":                func(d *decoder, k string, n *node) { d.oneOf(k, n, "scratch") }, // there is no other
	"scratch":             func(d *decoder, k string, n *node) { d.scratch = d.size(k, n, jail.Least.Scratch) },
	"observe":             func(d *decoder, k string, n *node) { d.doc.Observe = d.boolean(k, n) },
	"max_age":             func(d *decoder, k string, n *node) { d.doc.MaxAge = d.duration(k, n) },
	"publish":             func(d *decoder, k string, n *node) { d.doc.Publish = d.ports(k, n) },
	"node_ports":          func(d *decoder, k string, n *node) { d.doc.NodePorts = d.ports(k, n) },
	"cache":               func(d *decoder, k string, n *node) { d.doc.Cache = d.oneOf(k, n, cachePrivate, cacheNone) },
}

// decodeNative reads a whole document in this language's own spelling. A nil
// tree, which a reader returns after an error, gives an empty Document.
func decodeNative(n *node, reference bool, rep *report) *Document {
	d := &decoder{report: rep, doc: &Document{}, reference: reference}
	if n.isNull() {
		return d.doc
	}
	if n.kind != mapping {
		d.errorf(n.at, "", "a policy is a mapping, not %v", n.kind)
		return d.doc
	}
	d.mapping("", n, keys, later)
	d.doc.Limits = d.doc.Limits.Narrow(jail.Limits{Scratch: d.scratch})
	d.networkSwitch()
	return d.doc
}

// mapping calls the function of each field and refuses the fields that have
// none, naming the nearest key or saying that it is not built yet.
func (d *decoder) mapping(path string, n *node, known map[string]keyFunc, later []string) bool {
	if n.kind != mapping {
		d.errorf(n.at, path, "must be a mapping, not %v", n.kind)
		return false
	}
	for _, f := range n.fields {
		key := child(path, f.name)
		switch fn := known[f.name]; {
		case fn != nil:
			if !f.value.isNull() {
				fn(d, key, f.value)
			}
		case slices.Contains(later, f.name):
			d.later(f.at, key)
		default:
			e := Error{Pos: f.at, Key: key, Msg: "unknown key"}
			if near := nearest(f.name, slices.Concat(slices.Collect(maps.Keys(known)), later)); near != "" {
				e.Fix = "did you mean " + near + "?"
			}
			d.add(e)
		}
	}
	return true
}

// later refuses a word of the language that nothing enforces yet.
func (d *decoder) later(at Pos, what string) {
	d.add(Error{Pos: at, Key: what, Code: "not_built", Msg: "not built yet, so a policy with it is refused"})
}

// nearest returns the candidate with the smallest edit distance, if that is
// small against the word's length: what is further off is another word.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", max(1, len(word)/3)
	slices.Sort(candidates)
	for _, c := range candidates {
		if strings.HasPrefix(c, word) && len(word) >= 3 {
			return c
		}
		if dist := editDistance(word, c); dist < bestDistance || dist == bestDistance && best == "" {
			best, bestDistance = c, dist
		}
	}
	return best
}

func editDistance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
