package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/omnijail/omnijail/api"
)

// Exit codes of our own; everything else is the command's.
const (
	exitUsage  = 64
	exitFailed = 125
)

// say writes a line of ours. The command's output is the command's; ours goes to
// standard error with our name on it.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "omnijailctl: "+format+"\n", args...)
}

func hint(text string) {
	if text != "" {
		fmt.Fprintf(os.Stderr, "hint: %s\n", text)
	}
}

// report prints err the way a person can act on it.
func report(err error) {
	reason, fix, positions := explain(err)
	say("%s", reason)
	for _, p := range positions {
		fmt.Fprintf(os.Stderr, "  %s\n", position(p))
	}
	hint(fix)
}

func explain(err error) (reason, fix string, positions []api.Position) {
	var dial *api.DialError
	var refused *api.Error
	var usage usageError
	switch {
	case errors.As(err, &usage):
		reason, fix = usage.Error(), usage.hint
	case errors.As(err, &dial):
		reason, fix = explainDial(dial)
	case errors.As(err, &refused):
		reason, fix, positions = refused.Reason, refused.Fix, refused.Positions
		if fix == "" && len(positions) == 0 && refused.ID != "" {
			fix = "omnijailctl why " + refused.ID
		}
	default:
		reason = err.Error()
	}
	return reason, fix, positions
}

// missing says what an id was of that the daemon does not know, or not for us.
func missing(kind, id string, err error) error {
	var refused *api.Error
	if errors.As(err, &refused) && refused.Code == "not_found" {
		return &api.Error{Status: refused.Status, Code: refused.Code, Reason: fmt.Sprintf("there is no %s %.64q, or it is not yours", kind, id)}
	}
	return err
}

func position(p api.Position) string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Line > 0 && p.Col > 0 {
		where = fmt.Sprintf("%s:%d", where, p.Col)
	}
	text := p.Msg
	if p.Key != "" {
		text = p.Key + ": " + text
	}
	if p.Fix != "" {
		text += " (" + p.Fix + ")"
	}
	if where == "" {
		return text
	}
	return where + ": " + text
}
