package policy

import (
	"slices"

	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/jail"
)

// openNetwork writes allow_network: true of a merged document without rules as the
// weakening that it is.
func openNetwork(n *node, rep *report) {
	if n.isNull() || n.kind != mapping {
		return
	}
	wants, rules := n.get("allow_network"), n.get("egress_rules")
	if wants == nil || !wants.isBool() || wants.text != "true" || rules != nil && len(rules.items) > 0 {
		return
	}
	weakens := func(item *node) bool { return item.text == string(jail.WeakOpenNetwork) }
	if w := n.get("weaken"); w == nil || !slices.ContainsFunc(w.items, weakens) {
		n.extend("weaken", &node{text: string(jail.WeakOpenNetwork), at: wants.at})
	}
	rep.notef(wants.at, "allow_network: true without rules is read as weaken: [open_network]: any public address, never the node's own network, never with a credential")
}

// openRules are the rules that weaken: [open_network] stands for, if it is given.
func (d *Document) openRules() []egress.Rule {
	for _, w := range d.Weaken {
		if w.Text == string(jail.WeakOpenNetwork) {
			return egress.OpenRules(w.At.String())
		}
	}
	return nil
}

// checkOpen refuses what would make the open network more than a way to public
// addresses: a credential that could be sent anywhere, and private addresses.
func checkOpen(doc *Document, rep *report) {
	if doc.openRules() == nil {
		return
	}
	for i, c := range doc.Credentials {
		rep.errorf(c.At, index("credential_proxy", i), "there are no credentials beside weaken: [open_network]: name the hosts in egress_rules instead")
	}
	for _, w := range doc.Weaken {
		if w.Text == string(jail.WeakPrivateDestinations) {
			rep.errorf(w.At, "weaken", "private_destinations and open_network cannot be given together: name the private hosts in egress_rules, with allow_private")
		}
	}
}
