package selftest

import (
	"os"
	"path/filepath"
	"testing"
)

// The way to a home is nothing that has been found; what is beside it is.
func TestFoundBesideTheHome(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "srv/users/u")
	work := filepath.Join(dir, "srv/work")
	for _, d := range []string{home + "/own", work + "/own"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, result Result, path string) {
		t.Helper()
		if f := found(path, home, work); f.Result != result {
			t.Errorf("%s: %s (%s)", what, f.Result, f.Detail)
		}
	}
	srv := filepath.Join(dir, "srv")
	want("the way alone", Refused, srv)
	want("the home itself", Refused, home)
	want("what is not there", Refused, dir+"/none")
	want("another place", Succeeded, dir+"/srv/users/u/own")
	if err := os.Mkdir(srv+"/users/other", 0o755); err != nil {
		t.Fatal(err)
	}
	want("another's home beside it", Succeeded, srv)
}
