package creds

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func secret(t *testing.T, s string) Secret {
	t.Helper()
	v, err := NewSecret([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wants(t *testing.T, tab *Table, i int, value string, wantErr error) {
	t.Helper()
	s, err := tab.Wait(t.Context(), i)
	if string(s.Reveal()) != value || !errors.Is(err, wantErr) {
		t.Errorf("Wait(%d) = %q, %v; want %q, %v", i, s.Reveal(), err, value, wantErr)
	}
}

func TestWaitWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := table(t, bindings(t))
		errLocked := errors.New("locked")
		done := make(chan bool)
		waits := func(i int, value string, err error) {
			wants(t, tab, i, value, err)
			done <- true
		}
		go waits(0, "s3", nil)
		go waits(1, "", errLocked)
		go waits(2, "", ErrNoValue)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("a waiter returned before there was an answer")
		default:
		}
		tab.Resolve(0, 1, secret(t, "s3"), nil)
		tab.Resolve(1, 1, Secret{}, errLocked)
		tab.Drop(2)
		for range 3 {
			<-done
		}
	})
}

func TestWaitObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := table(t, bindings(t)).Wait(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestGenerations(t *testing.T) {
	tab := table(t, bindings(t))
	tab.Resolve(0, 2, secret(t, "two"), nil)
	tab.Resolve(0, 1, secret(t, "one"), nil)
	wants(t, tab, 0, "two", nil)
	tab.Resolve(0, 3, Secret{}, nil)
	wants(t, tab, 0, "", ErrNoValue)
	tab.Resolve(0, 4, secret(t, "four"), nil)
	wants(t, tab, 0, "four", nil)
	tab.Drop(0)
	tab.Resolve(0, 5, secret(t, "five"), nil)
	wants(t, tab, 0, "", ErrNoValue)
}

func TestPlaceholders(t *testing.T) {
	tab := table(t, append(bindings(t), Defaults(Binding{Type: GH, Sources: source, Shape: "github"}, "git.corp.example")))
	env := tab.Placeholders()
	if env["GH_TOKEN"] != env["GITHUB_TOKEN"] || env["GH_TOKEN"] == env["API_KEY"] || env["GH_HOST"] != "git.corp.example" || len(env) != 6 {
		t.Errorf("%v", env)
	}
	if !strings.HasPrefix(env["GH_ENTERPRISE_TOKEN"], "github_pat_oa_cred_") {
		t.Errorf("shape github gives %q", env["GH_ENTERPRISE_TOKEN"])
	}
	for name, value := range env {
		if name != "GH_HOST" && !Find(value) {
			t.Errorf("%s=%q is not recognised", name, value)
		}
	}
	var none *Table
	if len(none.Placeholders()) != 0 || none.Len() != 0 {
		t.Error("a nil table has placeholders")
	}
}
