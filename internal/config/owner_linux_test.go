package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever can change the file, or put another in its place, commands root.
func TestS07_OnlyRootsFilesAreObeyed(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "dir")
	file := filepath.Join(dir, "f.yaml")
	link := filepath.Join(top, "link.yaml")
	reset := func() {
		t.Helper()
		for _, err := range []error{
			os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755), os.Chown(dir, 0, 0),
			os.WriteFile(file, []byte("drain: 1s"), 0o644), os.Chmod(file, 0o644), os.Chown(file, 0, 0),
			os.RemoveAll(link), os.Symlink("dir/f.yaml", link),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	reset()
	t.Chdir(dir)
	for _, path := range []string{file, link, "f.yaml", "../dir/f.yaml"} {
		if err := RootOwned(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for name, tt := range map[string]struct {
		spoil func() error
		want  string
	}{
		"another's file":               {func() error { return os.Chown(file, 1000, 0) }, file + " belongs to uid 1000, not to root: chown root " + file},
		"a file that a group writes":   {func() error { return os.Chmod(file, 0o664) }, file + " may be written by others than root: chmod go-w " + file},
		"a file that all write":        {func() error { return os.Chmod(file, 0o646) }, file + " may be written"},
		"a sticky file":                {func() error { return os.Chmod(file, 0o666|os.ModeSticky) }, file + " may be written"},
		"another's folder":             {func() error { return os.Chown(dir, 1000, 0) }, dir + " belongs to uid 1000"},
		"a folder that a group writes": {func() error { return os.Chmod(dir, 0o775) }, dir + " may be written"},
		"none":                         {func() error { return os.Remove(file) }, "lstat"},
	} {
		reset()
		if err := tt.spoil(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, link} {
			if err := RootOwned(path); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, by %s: %v, want %s", name, path, err, tt.want)
			}
			if _, err := Load(path, true); err == nil {
				t.Errorf("%s, by %s: is loaded", name, path)
			}
		}
	}
	reset()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := RootOwned(file); err != nil {
		t.Errorf("root's file in a sticky folder: %v", err)
	}
}
