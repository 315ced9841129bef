package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a policy file. Line and Col count from 1; 0 is unknown.
type Pos struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// String returns "file:line", or the file alone. It is what stands in the audit
// and in hints, so it names no column.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Error is one thing that is wrong with a policy or a request.
type Error struct {
	Pos
	Key  string `json:"key,omitempty"`  // "egress_rules[2].host"
	Code string `json:"code,omitempty"` // "policy_closed" where the API has a word of its own
	Msg  string `json:"msg"`
	Fix  string `json:"fix,omitempty"` // what to write or type instead
}

// Error returns "file:line:col: key: message".
func (e Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.Pos.String())
		if e.Col > 0 {
			fmt.Fprintf(&b, ":%d", e.Col)
		}
		b.WriteString(": ")
	}
	if e.Key != "" && !strings.HasPrefix(e.File, "--") { // an index into what the policy has is no help to who typed a flag
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Errors is everything that is wrong, in the order of the files.
type Errors []Error

// maxErrors bounds a report, because a hostile document has as many errors as
// it has bytes.
const maxErrors = 100

// Error joins the errors, one a line, each with its fix.
func (es Errors) Error() string {
	lines := make([]string, 0, len(es))
	for _, e := range es {
		line := e.Error()
		if e.Fix != "" {
			line += " (" + e.Fix + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Has reports whether an error carries the code.
func (es Errors) Has(code string) bool {
	return slices.ContainsFunc(es, func(e Error) bool { return e.Code == code })
}

// report collects errors and notes while a document is read.
type report struct {
	errs  Errors
	notes []string
}

func (r *report) add(e Error) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, e)
	}
}

func (r *report) errorf(at Pos, key, format string, args ...any) {
	r.add(Error{Pos: at, Key: key, Msg: fmt.Sprintf(format, args...)})
}

func (r *report) notef(at Pos, format string, args ...any) {
	r.notes = append(r.notes, at.String()+": "+fmt.Sprintf(format, args...))
}

// err returns the errors, files in the order in which they were read and each
// file's from top to bottom, or nil.
func (r *report) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	order := map[string]int{}
	for _, e := range r.errs {
		if _, ok := order[e.File]; !ok {
			order[e.File] = len(order)
		}
	}
	slices.SortStableFunc(r.errs, func(a, b Error) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return r.errs
}
