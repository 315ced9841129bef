package node

import (
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
)

// Report is what doctor says.
type Report struct {
	Backends []BackendReport  `json:"backends"`
	Facts    []Fact           `json:"facts"`
	Advice   []Name           `json:"advice,omitempty"`  // facts to put right that no guarantee rests on
	Lacking  []jail.Guarantee `json:"lacking,omitempty"` // required guarantees that no backend gives
	Exit     int              `json:"exit"`              // 0 all enforced, 1 something falls back, 2 jails cannot run or a required guarantee is missing
}

// BackendReport is what one backend can do here.
type BackendReport struct {
	Name       string            `json:"name"`
	Runs       bool              `json:"runs"`
	Bare       bool              `json:"bare,omitempty"` // it isolates nothing, and is never chosen by itself
	Guarantees []GuaranteeReport `json:"guarantees"`
}

// GuaranteeReport is whether a backend keeps one promise here.
type GuaranteeReport struct {
	Name    jail.Guarantee `json:"name"`
	Given   bool           `json:"given"`
	Missing []Name         `json:"missing,omitempty"` // the facts it lacks
}

// Report judges the facts. Required guarantees must be given by one backend all
// together.
func (f Facts) Report(require []jail.Guarantee) Report {
	r := Report{Facts: f.Facts, Lacking: require}
	for i, b := range backends {
		r.Backends = append(r.Backends, f.reportBackend(b))
		lacking := r.Backends[i].lacking(require)
		if i == 0 || len(lacking) < len(r.Lacking) {
			r.Lacking = lacking
		}
	}
	r.Backends = append(r.Backends, f.reportBare())
	for _, n := range advice {
		if f.Get(n).Answer != Yes {
			r.Advice = append(r.Advice, n)
		}
	}
	r.Exit = r.exit()
	return r
}

func (f Facts) reportBackend(b backend) BackendReport {
	r := BackendReport{Name: b.name, Runs: len(f.missing(b.run)) == 0}
	for _, g := range jail.Guarantees {
		var names []Name
		for _, fact := range f.Missing(b.name, g) {
			names = append(names, fact.Name)
		}
		r.Guarantees = append(r.Guarantees, GuaranteeReport{Name: g, Given: len(names) == 0, Missing: names})
	}
	return r
}

// reportBare is what is held where nothing is isolated.
func (f Facts) reportBare() BackendReport {
	r := BackendReport{Name: Nothing, Bare: true, Runs: len(f.missing(bare.run)) == 0}
	for _, g := range jail.Guarantees {
		report := GuaranteeReport{Name: g}
		if len(bare.needs[g]) > 0 {
			for _, fact := range f.missing(append(slices.Clone(bare.run), bare.needs[g]...)) {
				report.Missing = append(report.Missing, fact.Name)
			}
			report.Given = len(report.Missing) == 0
		}
		r.Guarantees = append(r.Guarantees, report)
	}
	return r
}

// lacking returns those of want that the backend does not give.
func (b BackendReport) lacking(want []jail.Guarantee) []jail.Guarantee {
	var lacking []jail.Guarantee
	for _, g := range want {
		given := slices.ContainsFunc(b.Guarantees, func(r GuaranteeReport) bool { return r.Name == g && r.Given })
		if !given {
			lacking = append(lacking, g)
		}
	}
	return lacking
}

func (r Report) exit() int {
	runs := slices.ContainsFunc(r.Backends, func(b BackendReport) bool { return b.Runs && !b.Bare })
	switch {
	case !runs || len(r.Lacking) > 0:
		return 2
	case len(r.weak()) > 0:
		return 1
	}
	return 0
}

// weak names what keeps the exit code from 0 on a node that runs jails: the
// backends that would be preferred, guarantees of the one that is chosen instead,
// then advice.
func (r Report) weak() []string {
	var weak []string
	if i := slices.IndexFunc(r.Backends, func(b BackendReport) bool { return b.Runs }); i >= 0 {
		for _, b := range r.Backends[:i] {
			weak = append(weak, b.Name)
		}
		for _, g := range r.Backends[i].lacking(jail.Guarantees) {
			weak = append(weak, string(g))
		}
	}
	for _, n := range r.Advice {
		weak = append(weak, string(n))
	}
	return weak
}
