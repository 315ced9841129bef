package node

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text returns the report for a person: the verdict, each backend's guarantees,
// then the facts, each that is not yes with what to do about it.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.verdict())
	for _, backend := range r.Backends {
		fmt.Fprintf(&b, "\n%s%s\n", backend.Name, map[bool]string{false: " (cannot run here)"}[backend.Runs]+map[bool]string{true: " (no isolation: only where a policy says so and access lets it)"}[backend.Bare])
		table(&b, func(w *tabwriter.Writer) {
			for _, g := range backend.Guarantees {
				fmt.Fprintf(w, "  %s\t%s\n", mark(g.Given), g.line())
			}
		})
	}
	fmt.Fprintln(&b, "\nthis node")
	table(&b, func(w *tabwriter.Writer) {
		for _, f := range r.Facts {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", f.Answer, f.Name, f.Detail)
			if f.Answer != Yes {
				fmt.Fprintf(w, "  \t\tfix: %s\n", f.Fix)
			}
		}
	})
	return b.String()
}

func (r Report) verdict() string {
	switch {
	case len(r.Lacking) > 0:
		return "a required guarantee is missing: " + join(r.Lacking)
	case r.Exit == 2:
		return "jails cannot run here"
	case r.Exit == 1:
		return "jails run here, with less than there could be; see below: " + join(r.weak())
	}
	return "everything is enforced here"
}

func (g GuaranteeReport) line() string {
	if g.Given {
		return string(g.Name)
	}
	if len(g.Missing) == 0 {
		return string(g.Name)
	}
	return string(g.Name) + "\tneeds " + join(g.Missing)
}

func table(b *strings.Builder, rows func(*tabwriter.Writer)) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	rows(w)
	w.Flush() // a strings.Builder does not fail
}

func mark(given bool) string {
	if given {
		return "yes"
	}
	return "no"
}

func join[S ~string](items []S) string {
	words := make([]string, len(items))
	for i, s := range items {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
