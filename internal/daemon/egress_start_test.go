package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// TestS12_TheProxysLoginIsRootsAlone holds that the file is opened, not read, and
// only where nobody else could have written or read it.
func TestS12_TheProxysLoginIsRootsAlone(t *testing.T) {
	if f, err := openLogin(""); f != nil || err != nil {
		t.Errorf("without a file: %v %v", f, err)
	}
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		mode  os.FileMode
		owner int
		ok    bool
	}{
		"root's alone":     {0o600, 0, true},
		"for reading only": {0o400, 0, true},
		"read by a group":  {0o640, 0, false},
		"read by all":      {0o604, 0, false},
		"another's":        {0o600, 1000, false},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("corp:pass"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, tt.owner, 0); err != nil {
			t.Fatal(err)
		}
		f, err := openLogin(path)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		if f != nil {
			f.Close()
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := openLogin(path); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}
