package creds

import "slices"

// MinMasked is the length in bytes of the shortest value that a mask protects: a
// mask tells who guesses a value that the guess is right.
const MinMasked = 16

// maxEarned is how many cookies of one binding are searched for.
const maxEarned = 50

// search is the Matcher of one state of a table.
type search struct {
	version uint64
	matcher *Matcher
}

// Searched reports whether replies of host are searched for the table's secrets: a
// credential is bound to it, on whatever port and path, or was under a former policy
// of the jail. It may have been told one there and say it here.
func (t *Table) Searched(host string) bool {
	return slices.ContainsFunc(t.known(), func(r *row) bool {
		return !r.dropped.Load() && (slices.ContainsFunc(r.Targets, func(t Target) bool { return t.Authority.Host() == host }) || r.goesTo(host))
	})
}

// known are the bindings whose values some host may have been told.
func (t *Table) known() []*row {
	if t == nil || len(t.told) == 0 {
		return t.all()
	}
	return slices.Concat(t.rows, t.told)
}

// Matcher finds the values of all bindings, the generation before of each, and the
// cookies and tokens that they have earned. It is nil while there are none.
func (t *Table) Matcher() *Matcher {
	own, version := t.ownMatcher()
	var captures uint64 // read before the tokens: a change meanwhile makes another
	for _, r := range t.known() {
		captures += r.captures.Load()
	}
	if captures == 0 {
		return own
	}
	version += captures
	if s := t.search.Load(); s != nil && s.version == version {
		return s.matcher
	}
	var forms []string
	if own != nil {
		forms = slices.Clone(own.forms)
	}
	for _, r := range t.known() {
		for _, c := range r.kept() {
			forms = append(forms, c.forms...)
		}
	}
	m := newMatcher(forms)
	t.search.Store(&search{version, m})
	return m
}

// ownMatcher is Matcher without the captured tokens, and says of which version it is.
func (t *Table) ownMatcher() (m *Matcher, version uint64) {
	if t == nil {
		return nil, 0
	}
	for _, r := range t.known() {
		version += r.changes.Load()
	}
	if s := t.own.Load(); s != nil && s.version == version {
		return s.matcher, version
	}
	var forms []string
	for _, r := range t.known() {
		forms = append(forms, r.searched()...)
	}
	m = newMatcher(forms)
	t.own.Store(&search{version, m})
	return m, version
}

// searched returns the forms of a row's values and cookies.
func (r *row) searched() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, s := range []Secret{r.value, r.previous} {
		if !s.IsZero() {
			out = append(out, r.forms(string(s.Reveal()))...)
		}
	}
	for _, c := range r.earned {
		out = append(out, variants(c)...)
	}
	return out
}

// Earned says that a reply has given binding i a session cookie that authenticates
// like its value. Short ones are not searched for: they stand in every page.
func (t *Table) Earned(i int, cookie string) {
	r := t.rows[i]
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(cookie) < MinMasked || slices.Contains(r.earned, cookie) {
		return
	}
	r.earned = append(r.earned, cookie)
	if len(r.earned) > maxEarned {
		r.earned = r.earned[1:]
	}
	r.changes.Add(1)
}
