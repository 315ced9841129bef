package selftest

import (
	"fmt"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// Result is how an attempt ended.
type Result string

// The three ends of an attempt.
const (
	Refused   Result = "refused"
	Succeeded Result = "succeeded"
	NotRun    Result = "not_run"
)

// Finding is what came of an attempt.
type Finding struct {
	Result Result `json:"result"`
	Detail string `json:"detail,omitempty"`
}

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

func refused(format string, args ...any) Finding {
	return Finding{Refused, fmt.Sprintf(format, args...)}
}

func succeeded(format string, args ...any) Finding {
	return Finding{Succeeded, fmt.Sprintf(format, args...)}
}

func notRun(format string, args ...any) Finding {
	return Finding{NotRun, fmt.Sprintf(format, args...)}
}

// fails is the finding of an attempt that any error refuses.
func fails(err error) Finding {
	if err != nil {
		return refused("%v", err)
	}
	return succeeded("it worked")
}

// opened is fails for something that has to be closed again.
func opened(f interface{ Close() error }, err error) Finding {
	if err == nil {
		f.Close()
	}
	return fails(err)
}
