package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The other runtime, as its users install it. It stays on the machine for the
// next run, outside of the repository.
const (
	otherRuntime = "@anthropic-ai/sandbox-runtime@0.0.78"
	otherCache   = "/var/cache/omnijail-bench"
)

// sandboxRuntime returns the program of the other runtime, installed by npm with
// the Debian packages that it asks for.
func sandboxRuntime(b *testing.B) string {
	b.Helper()
	for program, pkg := range map[string]string{"npm": "npm", "socat": "socat", "rg": "ripgrep", "bwrap": "bubblewrap"} {
		if _, err := exec.LookPath(program); err != nil {
			b.Fatalf("the other runtime needs %s: apt-get install %s", program, pkg)
		}
	}
	dir := filepath.Join(otherCache, strings.NewReplacer("/", "-", "@", "").Replace(otherRuntime))
	cli := filepath.Join(dir, "node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js")
	if _, err := os.Stat(cli); err == nil {
		return cli
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(otherCache, 0o755)); err != nil {
		b.Fatal(err)
	}
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, otherRuntime)
	if out, err := install.CombinedOutput(); err != nil {
		b.Fatalf("npm: %v\n%s", err, out)
	}
	return cli
}

// BenchmarkSandboxRuntime: `omnijailctl exec -- true` from start to end against
// `srt true`, both as the same user in the same workspace, in turns.
func BenchmarkSandboxRuntime(b *testing.B) {
	cli := sandboxRuntime(b)
	s := newBench(b)
	run := func(cmd *exec.Cmd) {
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	ours := func() func() {
		run(s.n.Command(b, Ctl{UID: Alice, Dir: s.ws, Args: []string{"exec", "--policy", "bench", "--", "true"}}))
		return nil
	}
	theirs := func() func() {
		cmd := exec.Command("node", cli, "true")
		cmd.Dir = s.ws
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.n.Home(b, Alice), "LANG=C.UTF-8"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Alice, Gid: Alice}}
		run(cmd)
		return nil
	}
	ours()
	theirs()
	turns(b,
		&contender{name: "srt", every: 1, run: theirs},
		&contender{name: "omnijail", every: 1, run: ours},
	)
}
