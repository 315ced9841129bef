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

// Has reports whether some backend gives the guarantee.
func (d *Doctor) Has(guarantee string) bool {
	return slices.ContainsFunc(d.Backends, func(b BackendReport) bool {
		return slices.Contains(b.Guarantees, guarantee)
	})
}
