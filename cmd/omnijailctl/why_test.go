package main

import (
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// An event that decided nothing is told without a decision.
func TestWhyOfAnEnd(t *testing.T) {
	code := 7
	got := whyText(audit.Record{ID: "5b793c93", Kind: audit.KindExec, Jail: "j1", Policy: "small", Argv0: "sh", Exit: &code, Reason: "/tmp is full"})
	if strings.Contains(got, "decision") || !strings.Contains(got, "exit     7\nbecause  /tmp is full\n") {
		t.Errorf("it says\n%s", got)
	}
	got = whyText(audit.Record{ID: "5b793c93", Kind: audit.KindRequest, Decision: audit.Allow})
	if !strings.Contains(got, "decision allow\n") {
		t.Errorf("it says\n%s", got)
	}
}
