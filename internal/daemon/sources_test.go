package daemon

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// A credential of the unit reaches a pipe whole, and one that is not there, or a
// daemon without any, yields nothing.
func TestOperatorsValueIsPipedUnread(t *testing.T) {
	if _, err := operatorsValue("corp"); err == nil {
		t.Error("a daemon without credentials has one")
	}
	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	want := bytes.Repeat([]byte("s3cret"), 5000) // more than a page, less than a pipe
	if err := os.WriteFile(filepath.Join(dir, "corp"), want, 0o400); err != nil {
		t.Fatal(err)
	}
	f, err := operatorsValue("corp")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came through, %v", len(got), err)
	}
	if _, err := operatorsValue("other"); err == nil {
		t.Error("a credential that is not there")
	}
}

// The first source that has a value is used, in the order of the policy, and what
// the client sent serves once: it cannot be asked for it again.
func TestTheFirstSourceWithAValueIsUsed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if err := os.WriteFile(filepath.Join(dir, "corp"), []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	sent, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer sent.Close()
	s := &sources{sealed: map[string]*os.File{"TOKEN": sent}}
	env := creds.Source{Kind: creds.SourceEnv, Env: "TOKEN"}
	unset := creds.Source{Kind: creds.SourceEnv, Env: "OTHER"}
	unit := creds.Source{Kind: creds.SourceSystemd, Name: "corp"}
	absent := creds.Source{Kind: creds.SourceSystemd, Name: "none"}
	file := creds.Source{Kind: creds.SourceFile, File: "/f"}
	for name, c := range map[string]struct {
		from       []creds.Source
		generation uint64
		by         wire.Delivery
		value      bool
		rest       int
	}{
		"env":                    {[]creds.Source{env, file}, 1, wire.ByMemfd, true, 0},
		"env, asked again":       {[]creds.Source{env, file}, 2, 0, false, 1},
		"env alone, asked again": {[]creds.Source{env}, 2, 0, false, 0},
		"env not sent":           {[]creds.Source{unset, file}, 1, 0, false, 1},
		"unit before env":        {[]creds.Source{unit, env}, 1, wire.ByPipe, true, 0},
		"unit without it":        {[]creds.Source{absent, env}, 1, wire.ByMemfd, true, 0},
		"file first":             {[]creds.Source{file, unit}, 1, 0, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, by, rest := s.first(c.from, c.generation)
			if (f != nil) != c.value || f != nil && by != c.by || len(rest) != c.rest {
				t.Errorf("value %v by %v, %d sources left", f != nil, by, len(rest))
			}
			if f != nil && f != sent {
				f.Close()
			}
		})
	}
}

// The operator's configuration knows policies by name. A caller's own document
// may call itself anything and is none of those.
func TestS21_AnOwnDocumentHasNoOperatorsName(t *testing.T) {
	j := testJail(t, func(string) {})
	if got := operatorsName(j.spec()); got != "default" {
		t.Errorf("the operator's policy is called %q", got)
	}
	j.spec().Policy.Own = true
	if got := operatorsName(j.spec()); got != "" {
		t.Errorf("a caller's own document is called %q", got)
	}
}
