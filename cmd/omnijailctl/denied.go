package main

import (
	"os"
	"strings"

	"github.com/omnijail/omnijail/api"
)

// denied words a refusal: the sentence, and what to do about it. A command to
// type carries the id along, a piece of advice stands for itself, and what a
// credential command said is for a person at a terminal only.
func denied(d *api.Denied) (text string, hints []string) {
	if text = d.Text; text == "" {
		text = "denied " + d.What
	}
	switch {
	case len(d.Stderr) > 0 && isTerminal(os.Stderr):
		hints = d.Stderr
	case d.Fix == "":
		hints = []string{"omnijailctl why " + d.ID}
	case strings.HasPrefix(d.Fix, "omnijailctl exec --allow "):
		hints = []string{d.Fix + " id " + d.ID}
	default:
		hints = []string{d.Fix}
	}
	return text, hints
}
