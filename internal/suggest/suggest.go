package suggest

import (
	"fmt"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/policy"
)

// Suggestion is what a policy would have to say for the refused to be allowed.
type Suggestion struct {
	policy.Addition
	Why     []string // how many refusals each entry stands for
	LeftOut []string // what is not proposed, and why not
}

// most bounds each list of a Suggestion: what a person would still read.
const most = 100

// From reads the records of one jail, oldest first.
func From(recs []audit.Record) Suggestion {
	s := &Suggestion{}
	s.Rules = s.requests(recs)
	s.files(recs)
	for _, list := range []*[]string{&s.Rules, &s.Read, &s.Write, &s.Why, &s.LeftOut} {
		if n := len(*list); n > most {
			*list = append((*list)[:most:most], []string{}...)
			if list != &s.LeftOut && list != &s.Why {
				s.leave("%d more entries: the list is longer than a person would read", n-most)
			}
		}
	}
	return *s
}

func (s *Suggestion) because(format string, args ...any) {
	s.Why = append(s.Why, fmt.Sprintf(format, args...))
}

// leave names what is not proposed, once.
func (s *Suggestion) leave(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	for _, l := range s.LeftOut {
		if l == line {
			return
		}
	}
	s.LeftOut = append(s.LeftOut, line)
}
