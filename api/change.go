package api

import "encoding/json"

// PolicyChange is the body of PUT and POST /v1/jails/{id}/policy.
type PolicyChange struct {
	Policy json.RawMessage `json:"policy"`         // a name, or a document
	From   string          `json:"from,omitempty"` // digest of the policy that it is to replace; empty: whatever is in force
	DryRun bool            `json:"dry_run,omitempty"`
	// Context holds the variables that the policy's credential commands may get.
	Context map[string]string `json:"context,omitempty"`
	// SecretFDs are variables whose values follow as sealed memfds, by POST with Upgrade.
	SecretFDs []string `json:"secret_fds,omitempty"`
}

// PolicyChanged answers it: what the other policy changes, whether it was put in
// force or only asked about.
type PolicyChanged struct {
	Jail       string `json:"jail"`
	Policy     string `json:"policy"`
	Origin     string `json:"origin,omitempty"`
	From       string `json:"from"`       // digest of the policy before
	Digest     string `json:"digest"`     // of the new one
	Generation uint32 `json:"generation"` // how often the jail's policy has been changed with this one
	Applied    bool   `json:"applied"`

	AllowsMore     []string `json:"allows_more,omitempty"` // rules that come
	AllowsLess     []string `json:"allows_less,omitempty"` // rules that go
	Binds          []string `json:"binds,omitempty"`       // credentials that come
	Unbinds        []string `json:"unbinds,omitempty"`     // credentials that go
	BindsOtherwise []string `json:"binds_otherwise,omitempty"`
	Settings       []string `json:"settings,omitempty"`
}
