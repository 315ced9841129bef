package main

import (
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
)

// A start that was refused had no jail, and why says so instead of leaving a gap.
func TestWhyOfAStartThatWasRefused(t *testing.T) {
	for want, r := range map[string]audit.Record{
		"\njail     none was made\n":                {},
		"\njail     none was made, policy \"ci\"\n": {Policy: "ci"},
		"\njail     j1, policy \"ci\"\n":            {Policy: "ci", Jail: "j1"},
	} {
		if got := whyText(r); !strings.Contains(got, want) {
			t.Errorf("%q does not hold %q", got, want)
		}
	}
}

// A policy that the caller cannot read is not shown as nothing at all.
func TestAPolicyWithoutWordsIsNamed(t *testing.T) {
	got := shown(api.Policy{Name: "ci", Origin: "/etc/omnijail/policies/ci.yaml", Description: "builds"})
	if want := "ci (/etc/omnijail/policies/ci.yaml)\nbuilds\n\nThe operator's: what it holds is shown to root alone.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := shown(api.Policy{Name: "ci", Text: "all of it\n"}); got != "all of it\n" {
		t.Errorf("got %q", got)
	}
}
