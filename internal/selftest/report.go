package selftest

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/omnijail/omnijail/internal/jail"
)

// Report is what a run found.
type Report struct {
	Policy   string  `json:"policy"`
	Backend  string  `json:"backend,omitempty"`
	Passed   int     `json:"passed"`
	Failed   int     `json:"failed"`
	NotRun   int     `json:"not_run"`
	Attempts []Entry `json:"attempts"`
}

// Entry is one attempt with its end.
type Entry struct {
	Name      string         `json:"name"`
	Tries     string         `json:"tries"`
	Must      string         `json:"must"`
	Guarantee jail.Guarantee `json:"guarantee"`
	Finding
}

// Holds reports whether no attempt succeeded.
func (r Report) Holds() bool { return r.Failed == 0 }

// WriteJSON writes all of it.
func (r Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteText writes a table per guarantee, and in full what succeeded and what
// was not run.
func (r Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "GUARANTEE\tPASSED\tFAILED\tNOT RUN")
	for _, g := range jail.Guarantees {
		count := map[Result]int{}
		for _, e := range r.Attempts {
			if e.Guarantee == g {
				count[e.Result]++
			}
		}
		if len(count) > 0 {
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", g, count[Refused], count[Succeeded], count[NotRun])
		}
	}
	fmt.Fprintf(table, "all\t%d\t%d\t%d\n", r.Passed, r.Failed, r.NotRun)
	if err := table.Flush(); err != nil {
		return err
	}
	for _, e := range r.Attempts {
		if e.Result == Succeeded {
			fmt.Fprintf(w, "\nFAILED %s (%s)\n  tried: %s\n  must:  %s\n  but:   %s\n", e.Name, e.Guarantee, e.Tries, e.Must, e.Detail)
		}
	}
	if r.NotRun > 0 {
		fmt.Fprintln(w, "\nnot run:")
	}
	for _, e := range r.Attempts {
		if e.Result == NotRun {
			fmt.Fprintf(w, "  %s: %s\n", e.Name, e.Detail)
		}
	}
	return nil
}
