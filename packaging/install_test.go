package packaging

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files lists what is below dir, and holds that everybody can read it and only
// its owner write it.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if mode := fi.Mode().Perm(); p != dir && mode != 0o755 && mode != 0o644 {
			t.Errorf("%s has mode %v", p, mode)
		}
		if !d.IsDir() {
			out = append(out, strings.TrimPrefix(p, dir))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func script(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{"-c", `umask 027; exec ./install "$@"`, "install"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("install %q: %v\n%s", args, err, out)
	}
}

func TestUninstallTakesWhatInstallPutThere(t *testing.T) {
	bin, root := t.TempDir(), t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", "..", "build", "BIN="+bin).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := []string{
		"/usr/bin/other", "/usr/share/bash-completion/completions/other", "/usr/share/man/man1/omnijail-other.1.gz",
		"/usr/share/man/man1/omnijailctlx.1.gz",
	}
	for _, name := range before {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script(t, bin, root)
	installed := files(t, root)
	for _, want := range []string{
		"/usr/bin/omnijailctl", "/usr/sbin/omnijaild", "/usr/libexec/omnijail/omnijail-init",
		"/usr/lib/systemd/system/omnijaild.service", "/usr/lib/systemd/system/omnijaild.socket",
		"/usr/lib/sysusers.d/omnijail.conf", "/usr/lib/tmpfiles.d/omnijail.conf",
		"/etc/omnijail/omnijaild.yaml", "/etc/omnijail/policies/default.yaml",
		"/usr/share/bash-completion/completions/omnijailctl", "/usr/share/zsh/vendor-completions/_omnijailctl",
		"/usr/share/fish/vendor_completions.d/omnijailctl.fish",
		"/usr/share/man/man1/omnijailctl.1.gz", "/usr/share/man/man1/omnijailctl-exec.1.gz", "/usr/share/man/man8/omnijaild.8.gz",
	} {
		if !slices.Contains(installed, want) {
			t.Errorf("%s is not installed", want)
		}
	}

	// What the operator wrote survives an update and an uninstall.
	config := filepath.Join(root, "etc/omnijail/omnijaild.yaml")
	if err := os.WriteFile(config, []byte("drain: 1s\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script(t, bin, root)
	script(t, "--remove", root)
	want := append([]string{"/etc/omnijail/omnijaild.yaml", "/etc/omnijail/policies/default.yaml"}, before...)
	if got := files(t, root); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("left: %q\nwant: %q", got, want)
	}
	if b, err := os.ReadFile(config); err != nil || string(b) != "drain: 1s\n" {
		t.Errorf("the configuration is %q, %v", b, err)
	}
	script(t, "--remove", root) // nothing is there: no error
}
