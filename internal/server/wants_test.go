package server

import (
	"net/http"
	"slices"
	"testing"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/policy"
)

// TestARequestThatAsksIsToldWhatItLacks names the variables that the policy lists and
// the request has not, and no others; one that has them is let through.
func TestARequestThatAsksIsToldWhatItLacks(t *testing.T) {
	doc := &policy.Document{
		Passthrough: []policy.Item{{Text: "EDITOR"}, {Text: "PAGER"}},
		Credentials: []policy.Credential{{Binding: creds.Binding{Sources: []creds.Source{{Kind: creds.SourceEnv, Env: "TOKEN"}}}}},
	}
	got := wants(doc, &api.ExecRequest{Context: map[string]string{"PAGER": "less"}})
	if got == nil || got.Status != http.StatusPreconditionRequired || !slices.Equal(got.Wants.Context, []string{"EDITOR"}) || !slices.Equal(got.Wants.Secrets, []string{"TOKEN"}) {
		t.Errorf("it is told %+v", got)
	}
	whole := &api.ExecRequest{Context: map[string]string{"PAGER": "less", "EDITOR": ""}, SecretFDs: []string{"TOKEN"}}
	if got := wants(doc, whole); got != nil {
		t.Errorf("a whole one is told %+v", got.Wants)
	}
	if got := wants(&policy.Document{}, &api.ExecRequest{}); got != nil {
		t.Errorf("one for a policy without any is told %+v", got.Wants)
	}
}
