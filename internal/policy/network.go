package policy

import (
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// checkNetwork holds rules and credentials against each other.
func checkNetwork(doc *Document, rep *report) {
	rules, err := egress.Compile(doc.rules())
	if err != nil {
		rep.errorf(Pos{File: doc.Ref.Origin}, "egress_rules", "%v", err)
		return
	}
	if err := creds.CheckAll(doc.bindings()); err != nil {
		rep.errorf(Pos{File: doc.Ref.Origin}, "credential_proxy", "%v", err)
	}
	checkUnread(doc, rep)
	checkOpen(doc, rep)
	for i, c := range doc.Credentials {
		key := index("credential_proxy", i)
		checkReach(c, key, rules, rep)
		checkShared(c, key, doc.Rules, rep)
		for _, s := range c.Sources {
			if s.Kind == creds.SourceSystemd && !doc.Closed {
				rep.errorf(c.At, key+".source", "systemd credentials are the operator's: only policies in the operator's directory may name one")
			}
		}
	}
}

// checkReach refuses a credential that nothing could ever use: it was meant for
// something that the rules do not say.
func checkReach(c Credential, key string, rules *egress.Rules, rep *report) {
	for _, t := range c.Targets {
		path := t.Path
		if path == "" {
			path = egress.AnyPath
		}
		if !rules.Reaches(t.Authority, c.Methods, path) {
			rep.add(Error{Pos: c.At, Key: key, Msg: "no rule reaches " + strings.TrimSuffix(t.Authority.String(), ":443") + t.Path + ", which credential " + c.Name + " is for",
				Fix: `add to egress_rules: "GET ` + strings.TrimSuffix(t.Authority.String(), ":443") + path + `"`})
		}
	}
}

// checkShared refuses a credential below a suffix where strangers get names.
func checkShared(c Credential, key string, rules []Rule, rep *report) {
	for _, r := range rules {
		below := func(t creds.Target) bool {
			return strings.HasSuffix(t.Authority.Host(), strings.TrimPrefix(r.Host, "*"))
		}
		if !r.Deny && r.SharedSuffix() && slices.ContainsFunc(c.Targets, below) {
			rep.errorf(c.At, key, "%s is allowed by %s (%s), where anyone can register a name: name the host itself", c.Name, r.Rule, r.At)
		}
	}
}
