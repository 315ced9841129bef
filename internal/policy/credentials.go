package policy

import (
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// credentialTypes are the types of this build and of the language.
var (
	credentialTypes = []string{
		string(creds.Bearer), string(creds.Basic), string(creds.Header), string(creds.Git), string(creds.GH),
	}
	credentialTypesLater = []string{"databricks_cli"}
)

// credentials reads credential_proxy.
func (d *decoder) credentials(key string, n *node) {
	for i, item := range d.items(key, n, false) {
		k := index(key, i)
		before := len(d.errs)
		b, ok := d.credential(k, item)
		if !ok || len(d.errs) > before {
			continue
		}
		if err := b.Check(); err != nil {
			d.errorf(item.at, k, "%v", err)
			continue
		}
		d.doc.Credentials = append(d.doc.Credentials, Credential{b, item.at})
	}
}

func (d *decoder) credential(key string, n *node) (creds.Binding, bool) {
	b := creds.Binding{Origin: n.at.String()}
	var host string
	known := bindingKeys(&b)
	known["host"] = func(d *decoder, k string, n *node) {
		var err error
		if host, err = egress.ParseHost(d.str(k, n)); err != nil {
			d.errorf(n.at, k, "%v", err)
		}
	}
	if !d.mapping(key, n, known, []string{"ttl", "budget", "profiles", "default"}) {
		return b, false
	}
	if n.get("type").isNull() {
		d.errorf(n.at, key, "needs a type: %s", strings.Join(credentialTypes, ", "))
		return b, false
	}
	if n.get("target") != nil && n.get("targets") != nil {
		d.errorf(n.get("targets").at, child(key, "targets"), "and target exclude each other")
	}
	if n.get("source").isNull() {
		d.errorf(n.at, key, "needs a source: {env: VAR}, {file: PATH} or {command: STRING}")
	}
	if host != "" && b.Type != creds.GH {
		d.errorf(n.get("host").at, child(key, "host"), "is gh_basic's; write target")
	}
	return creds.Defaults(b, host), true
}

// bindingKeys are the keys of one credential that fill b.
func bindingKeys(b *creds.Binding) map[string]keyFunc {
	targets := func(d *decoder, k string, n *node) { b.Targets = d.targets(k, n) }
	return map[string]keyFunc{
		"name": func(d *decoder, k string, n *node) { b.Name = d.name(k, n) },
		"type": func(d *decoder, k string, n *node) {
			s := d.oneOf(k, n, slices.Concat(credentialTypes, credentialTypesLater)...)
			if slices.Contains(credentialTypesLater, s) {
				d.later(n.at, k+": "+s)
			}
			b.Type = creds.Type(s)
		},
		"source":    func(d *decoder, k string, n *node) { b.Sources = d.sources(k, n) },
		"target":    targets,
		"targets":   targets,
		"methods":   func(d *decoder, k string, n *node) { b.Methods = d.methods(k, n) },
		"env":       func(d *decoder, k string, n *node) { b.Env = d.placeholders(k, n) },
		"username":  func(d *decoder, k string, n *node) { b.Username = d.str(k, n) },
		"header":    func(d *decoder, k string, n *node) { b.Header = d.str(k, n) },
		"prefix":    func(d *decoder, k string, n *node) { b.Prefix = d.str(k, n) },
		"shape":     func(d *decoder, k string, n *node) { b.Shape = d.str(k, n) },
		"optional":  func(d *decoder, k string, n *node) { b.Optional = d.boolean(k, n) },
		"resolve":   func(d *decoder, k string, n *node) { b.AtStart = d.oneOf(k, n, "use", "start") == "start" },
		"websocket": func(d *decoder, k string, n *node) { b.WebSocket = d.boolean(k, n) },
		"cookies":   func(d *decoder, k string, n *node) { b.Cookies = creds.Cookies(d.oneOf(k, n, "keep", "drop", "pass")) },
		"foreign": func(d *decoder, k string, n *node) {
			b.Foreign = creds.Foreign(d.oneOf(k, n, "forward", "strip", "deny"))
		},
	}
}

func (d *decoder) targets(key string, n *node) []creds.Target {
	var out []creds.Target
	for i, item := range d.items(key, n, true) {
		k := index(key, i)
		if n.kind == scalar {
			k = key
		}
		s := d.str(k, item)
		if s == "" {
			continue
		}
		a, path, err := creds.ParseTarget(s)
		if err != nil {
			d.errorf(item.at, k, "%v", err)
			continue
		}
		out = append(out, creds.Target{Authority: a, Path: path})
	}
	return out
}

func (d *decoder) methods(key string, n *node) []string {
	var out []string
	for i, item := range d.items(key, n, true) {
		for word := range strings.SplitSeq(d.str(index(key, i), item), ",") {
			word = strings.ToUpper(strings.TrimSpace(word))
			if !slices.Contains(egress.Methods, word) {
				d.errorf(item.at, index(key, i), "%.32q is none of %s", word, strings.Join(egress.Methods, ", "))
				continue
			}
			out = appendNew(out, word)
		}
	}
	return out
}

func (d *decoder) placeholders(key string, n *node) []creds.EnvVar {
	var out []creds.EnvVar
	for i, item := range d.items(key, n, true) {
		if s := d.envName(index(key, i), item); s != "" {
			out = append(out, creds.EnvVar{Name: s})
		}
	}
	return out
}
