package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

// rules reads egress_rules.
func (d *decoder) rules(key string, n *node) {
	for i, item := range d.items(key, n, false) {
		r, ok := d.rule(index(key, i), item)
		if !ok {
			continue
		}
		r.Origin = item.at.String()
		d.doc.Rules = append(d.doc.Rules, Rule{r, item.at})
	}
}

// rule reads one rule: a string, {allow|deny: STRING} with further keys, or the
// long form.
func (d *decoder) rule(key string, n *node) (egress.Rule, bool) {
	if n.kind == scalar {
		return d.ruleText(key, n)
	}
	if n.kind != mapping {
		d.errorf(n.at, key, "must be a rule, not %v", n.kind)
		return egress.Rule{}, false
	}
	before := len(d.errs)
	r := d.ruleHead(key, n)
	rest := &node{kind: mapping, at: n.at}
	for _, f := range n.fields {
		switch f.name {
		case "allow", "deny", "methods", "host", "port", "path":
		default:
			rest.fields = append(rest.fields, f)
		}
	}
	d.mapping(key, rest, ruleKeys(&r), nil)
	if len(d.errs) > before {
		return egress.Rule{}, false
	}
	if err := r.Check(); err != nil {
		d.errorf(n.at, key, "%v", err)
		return egress.Rule{}, false
	}
	r.Text = r.String()
	return r, true
}

// ruleHead reads what the string form can say too.
func (d *decoder) ruleHead(key string, n *node) egress.Rule {
	var given []string
	for _, name := range []string{"allow", "deny", "host"} {
		if v := n.get(name); v != nil && !(name == "deny" && v.isBool()) {
			given = append(given, name)
		}
	}
	if len(given) != 1 {
		d.errorf(n.at, key, "needs exactly one of allow: RULE, deny: RULE, or host")
		return egress.Rule{}
	}
	if given[0] == "host" {
		return d.ruleLong(key, n)
	}
	for _, name := range []string{"methods", "port", "path"} {
		if n.get(name) != nil {
			d.errorf(n.get(name).at, child(key, name), "belongs into the rule's text beside %s:", given[0])
		}
	}
	text := n.get(given[0])
	r, ok := d.ruleText(child(key, given[0]), text)
	if ok && r.Deny {
		d.errorf(text.at, child(key, given[0]), "has a ! of its own")
	}
	r.Deny = given[0] == "deny"
	return r
}

// ruleLong composes the string form, so that a host, port or path has one
// parser however it is written.
func (d *decoder) ruleLong(key string, n *node) egress.Rule {
	methods := "*"
	if m := n.get("methods"); !m.isNull() {
		var words []string
		for i, item := range d.items(child(key, "methods"), m, true) {
			words = append(words, d.str(index(child(key, "methods"), i), item))
		}
		methods = strings.Join(words, ",")
	}
	host := d.str(child(key, "host"), n.get("host"))
	if strings.ContainsAny(host, "/ \t!,") {
		d.errorf(n.get("host").at, child(key, "host"), "%.64q is not a host alone", host)
		return egress.Rule{}
	}
	if p := n.get("port"); !p.isNull() {
		host += ":" + d.port(child(key, "port"), p)
	}
	path := ""
	if p := n.get("path"); !p.isNull() {
		if path = d.str(child(key, "path"), p); !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t") {
			d.errorf(p.at, child(key, "path"), "must begin with / and hold no blank")
			return egress.Rule{}
		}
	}
	r, err := egress.ParseRule(methods + " " + host + path)
	if err != nil {
		d.errorf(n.at, key, "%v", err)
	}
	if deny := n.get("deny"); !deny.isNull() {
		r.Deny = d.boolean(child(key, "deny"), deny)
	}
	return r
}

func (d *decoder) port(key string, n *node) string {
	if n.kind == scalar && n.tag == tagString && n.text == "*" {
		return "*"
	}
	return fmt.Sprint(d.integer(key, n, 1, 65535))
}

func (d *decoder) ruleText(key string, n *node) (egress.Rule, bool) {
	if n.kind != scalar || n.tag != tagString {
		d.errorf(n.at, key, "must be a rule in quotes, such as \"GET api.example.com/**\"")
		return egress.Rule{}, false
	}
	r, err := egress.ParseRule(n.text)
	var syntax *egress.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d.errorf(n.at, key, "%.200q: column %d: %s", syntax.Text, syntax.Column, syntax.Msg)
	case err != nil:
		d.errorf(n.at, key, "%v", err)
	}
	return r, err == nil
}

// ruleKeys are the keys that only a mapping can say.
func ruleKeys(r *egress.Rule) map[string]keyFunc {
	return map[string]keyFunc{
		"query": func(d *decoder, k string, n *node) {
			if n.kind != mapping {
				d.errorf(n.at, k, "must be a mapping of parameters to globs, not %v", n.kind)
				return
			}
			r.Query = map[string]string{}
			for _, f := range n.fields {
				r.Query[f.name] = d.str(child(k, f.name), f.value)
			}
		},
		"allow_private": func(d *decoder, k string, n *node) { r.AllowPrivate = d.networks(k, n) },
		"max_body":      func(d *decoder, k string, n *node) { r.MaxBody = d.size(k, n, 0) },
		"websocket":     func(d *decoder, k string, n *node) { r.WebSocket = d.boolean(k, n) },
		"range":         func(d *decoder, k string, n *node) { r.Range = d.boolean(k, n) },
		"intercept":     func(d *decoder, k string, n *node) { r.Unread = !d.boolean(k, n) },
		"h2":            func(d *decoder, k string, n *node) { r.PreferHTTP2 = d.oneOf(k, n, "prefer") == "prefer" },
	}
}

// networks reads a list of networks; an address is one of itself alone.
func (d *decoder) networks(key string, n *node) []netip.Prefix {
	var list []netip.Prefix
	for i, w := range d.words(key, n) {
		if a, err := netip.ParseAddr(w.Text); err == nil && a.Zone() == "" && !a.Is4In6() {
			list = append(list, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(w.Text)
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			d.errorf(w.At, index(key, i), "%.64q is not a network such as 10.20.0.0/16", w.Text)
			continue
		}
		list = append(list, p)
	}
	return list
}
