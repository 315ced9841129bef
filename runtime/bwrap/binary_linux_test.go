package bwrap

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLoadedProgramCannotChange(t *testing.T) {
	b, err := Load("/usr/bin/bwrap")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.File().WriteAt([]byte("x"), 0); err == nil {
		t.Error("written through the descriptor")
	}
	again, err := os.OpenFile("/proc/self/fd/"+itoa(int(b.File().Fd())), os.O_RDWR, 0)
	if err == nil {
		if _, err := again.WriteAt([]byte("x"), 0); err == nil {
			t.Error("written after reopening")
		}
		if err := again.Truncate(0); err == nil {
			t.Error("truncated")
		}
		again.Close()
	}
	seals, err := unix.FcntlInt(b.File().Fd(), unix.F_GET_SEALS, 0)
	if want := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE; err != nil || seals&want != want {
		t.Errorf("seals %#x, %v", seals, err)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestS28_OnlyRootsFilesAreLoaded(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	make := func(name string, mode os.FileMode, uid int) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("program"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(p, uid, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if b, err := Load(make("fine", 0o755, 0)); err != nil {
		t.Errorf("root's own program: %v", err)
	} else {
		b.Close()
	}
	theirs := make("theirs/p", 0o755, 0)
	os.Chown(filepath.Dir(theirs), 1000, 0)
	open := make("open/p", 0o755, 0)
	os.Chmod(filepath.Dir(open), 0o777)
	link := filepath.Join(dir, "theirs", "link")
	os.Symlink("/usr/bin/bwrap", link)
	empty := filepath.Join(dir, "empty")
	os.WriteFile(empty, nil, 0o755)
	for name, path := range map[string]string{
		"a user's file":         make("user", 0o755, 1000),
		"group-writable":        make("group", 0o775, 0),
		"world-writable":        make("world", 0o757, 0),
		"in a user's directory": theirs,
		"in an open directory":  open,
		"relative":              "bin/bwrap",
		"by dots":               "/usr/../usr/bin/bwrap",
		"a directory":           dir,
		"missing":               filepath.Join(dir, "missing"),
		"empty":                 empty,
		"a user's link":         link,
	} {
		if b, err := Load(path); err == nil {
			b.Close()
			t.Errorf("%s was loaded", name)
		}
	}
}
