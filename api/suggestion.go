package api

// Suggestion answers GET /v1/jails/{id}/suggestion: what would have to be added to
// a policy for what its jail was refused.
type Suggestion struct {
	Jail    string   `json:"jail"`
	Policy  string   `json:"policy"`
	Origin  string   `json:"origin,omitempty"`
	YAML    string   `json:"yaml,omitempty"` // lines for the policy file
	Rules   []string `json:"egress_rules,omitempty"`
	Read    []string `json:"read_paths,omitempty"`
	Write   []string `json:"write_paths,omitempty"`
	Why     []string `json:"why,omitempty"`
	LeftOut []string `json:"left_out,omitempty"`
}
