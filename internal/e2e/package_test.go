package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tool runs one of the project's own programs on this machine.
func tool(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// files are the paths of the files below dir, from dir.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestInstallAndRemove(t *testing.T) {
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tool(t, nil, "../../packaging/install", bin, dir)
	for path, mode := range map[string]os.FileMode{
		"/usr/bin/omnijailctl": 0o755, "/usr/sbin/omnijaild": 0o755, "/usr/libexec/omnijail/omnijail-init": 0o755,
		"/usr/lib/systemd/system/omnijaild.socket": 0o644, "/etc/omnijail/policies/default.yaml": 0o644,
	} {
		if fi, err := os.Stat(dir + path); err != nil || fi.Mode() != mode {
			t.Errorf("%s: %v %v", path, fi, err)
		}
	}
	edited := filepath.Join(dir, "etc/omnijail/omnijaild.yaml")
	if err := os.WriteFile(edited, []byte("drain: 5s\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tool(t, nil, "../../packaging/install", bin, dir) // an update
	tool(t, nil, "../../packaging/install", "--remove", dir)
	want := []string{"/etc/omnijail/omnijaild.yaml", "/etc/omnijail/policies/default.yaml"}
	if left := files(t, dir); !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
	if b, err := os.ReadFile(edited); err != nil || string(b) != "drain: 5s\n" {
		t.Errorf("what the administrator wrote is now %q, %v", b, err)
	}
}

// debian builds the package of this machine's architecture.
func debian(t *testing.T) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dist := t.TempDir()
	if err := os.Symlink(bin, filepath.Join(dist, "linux-"+runtime.GOARCH)); err != nil {
		t.Fatal(err)
	}
	tool(t, []string{"DIST=" + dist}, "../../tools/deb", "v1.2.3-4-gabc", runtime.GOARCH)
	return filepath.Join(dist, "omnijail_1.2.3+4+gabc_"+runtime.GOARCH+".deb")
}

func TestDebianPackage(t *testing.T) {
	deb := debian(t)

	t.Run("holds what install installs", func(t *testing.T) {
		bin, _ := programs()
		byInstall, byDeb := t.TempDir(), t.TempDir()
		tool(t, nil, "../../packaging/install", bin, byInstall)
		tool(t, nil, "dpkg-deb", "-x", deb, byDeb)
		want := append(files(t, byInstall), "/usr/share/doc/omnijail/copyright")
		slices.Sort(want)
		if got := files(t, byDeb); !slices.Equal(got, want) {
			t.Errorf("the package holds\n%q, want\n%q", got, want)
		}
	})
	t.Run("on a machine", func(t *testing.T) {
		m := Boot(t, func(layer string) {
			AddLab(t, layer)
			tool(t, nil, "install", "-D", "-m", "0644", deb, layer+"/root/omnijail.deb")
		})
		m.Run(t, "dpkg", "-i", "/root/omnijail.deb").Want(t, 0)
		m.lab = m.StartLab(t)
		m.configure(t)
		m.addPerson(t, "alice")
		m.logIn(t, "alice")
		m.wantMainJob(t)
		m.Run(t, "dpkg", "-i", "/root/omnijail.deb").Want(t, 0) // an update
		if o := m.Run(t, "grep", "-c", "hosts:", "/etc/omnijail/omnijaild.yaml"); o.Exit != 0 {
			t.Error("the update replaced the administrator's configuration")
		}
		m.wantMainJob(t)
		m.Run(t, "dpkg", "-r", "omnijail").Want(t, 0)
		m.wantNothing(t, "")
		m.Run(t, "test", "-e", "/etc/omnijail/omnijaild.yaml").Want(t, 0)
		m.Run(t, "dpkg", "-P", "omnijail").Want(t, 0)
		m.Run(t, "test", "!", "-e", "/etc/omnijail/omnijaild.yaml").Want(t, 0)
	})
}
