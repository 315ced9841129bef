package selftest

import (
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// Attempt is one try to get out.
type Attempt struct {
	Name      string         // area.what; unique
	Tries     string         // what it does, in one line
	Must      string         // what has to happen
	Guarantee jail.Guarantee // the promise that it tests
	NoControl string         // why it cannot be shown to succeed without a jail; empty where it can

	group group
	needs string                       // a path; where the node does not have it there is nothing to try
	probe func(*Site) Finding          // made inside, with others of its group
	drive func(*node) Finding          // made from outside: it starts what it needs
	after func(*node, Finding) Finding // looks from outside once the jail is gone; nil for none
}

// Area is the part of the name that groups attempts on a page.
func (a Attempt) Area() string {
	area, _, _ := strings.Cut(a.Name, ".")
	return area
}
