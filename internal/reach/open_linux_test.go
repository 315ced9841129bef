package reach

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What is found is what the kernel finds.
func TestOpenFindsWhatTheKernelFinds(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/f", nil, 0o644), os.Symlink("../a/f", dir+"/a/link"),
		os.Symlink(dir+"/a", dir+"/absolute"), os.Symlink("round", dir+"/round"), os.Symlink("nothing", dir+"/dangling")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{
		"", "a", "a/", "a//b/./.", "a/b/..", "a/b/../f", "a/link", "absolute", "absolute/b", "absolute/link", "round", "dangling",
		"missing", "a/f/", "a/f/..", "a/f/x", "absolute/../a", "../../../../../..",
	} {
		for _, links := range []bool{true, false} {
			p := dir + "/" + p
			how := unix.OpenHow{Flags: unix.O_PATH, Resolve: unix.RESOLVE_NO_MAGICLINKS}
			if !links {
				how.Resolve |= unix.RESOLVE_NO_SYMLINKS
			}
			want, wantErr := unix.Openat2(unix.AT_FDCWD, p, &how)
			got, err := Open(p, links)
			if wantErr != nil {
				if err == nil && filepath.Base(p) != "f" { // a slash behind a file is not seen
					t.Errorf("%s: opened, the kernel: %v", p, wantErr)
				}
				continue
			}
			var a, b unix.Stat_t
			if err != nil || errors.Join(unix.Fstat(want, &a), unix.Fstat(int(got.Fd()), &b)) != nil || a.Ino != b.Ino || a.Dev != b.Dev {
				t.Errorf("%s (links %v): %v", p, links, err)
			}
			unix.Close(want)
		}
	}
	if f, err := Open("/proc/self/fd/0", true); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link of /proc: %v, %v", f, err)
	}
}
