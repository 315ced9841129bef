package api

import "slices"

// Doctor answers GET /v1/doctor: what this node enforces. Exit is what
// omnijailctl doctor exits with: 0 all enforced, 1 something falls back, 2 jails
// cannot run.
type Doctor struct {
	Exit     int             `json:"exit"`
	Backends []BackendReport `json:"backends"`
	Facts    []Fact          `json:"facts"`
	Text     string          `json:"text"` // the same in words
	// Tools are what omnijailctl doctor --tools found; the daemon says nothing of
	// them.
	Tools []ToolReport `json:"tools,omitempty"`
}

// ToolReport is how a tool of the caller's did in a jail. State is ok, failed or
// absent.
type ToolReport struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// BackendReport is what one backend guarantees here.
type BackendReport struct {
	Name       string   `json:"name"`
	Guarantees []string `json:"guarantees"`
	Missing    []string `json:"missing,omitempty"`
}

// Fact is one thing that was probed. State is yes, no or inconclusive.
type Fact struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// Lacking returns those of the guarantees that the backend which gives the most of
// them does not give: a jail has one backend.
func (d *Doctor) Lacking(guarantees []string) []string {
	lacking := guarantees
	for _, b := range d.Backends {
		missing := slices.DeleteFunc(slices.Clone(guarantees), func(g string) bool { return slices.Contains(b.Guarantees, g) })
		if len(missing) < len(lacking) {
			lacking = missing
		}
	}
	return lacking
}
