package e2e

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
)

// Tests that become a user do so on a thread that ends with them. The process's
// first thread cannot end, so it is kept for the main goroutine.
func init() { runtime.LockOSThread() }

// roles are what the test's own binary can be instead of a test.
var roles = map[string]func(io.Reader, io.Writer) error{
	"lab":          playLab,
	"load":         playLoad,
	"flood":        playFlood,
	"upstream":     playUpstream,
	"reverseproxy": playReverseProxy,
	"interceptor":  playInterceptor,
}

func TestMain(m *testing.M) {
	if play := roles[os.Getenv(roleVariable)]; play != nil {
		if err := play(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if build.dir != "" {
		os.RemoveAll(build.dir)
	}
	os.Exit(code)
}

// The line that the project exists for.
func TestGhApiUser(t *testing.T) {
	n := NewNode(t, Options{})
	o := n.Run(t, Ctl{UID: Alice, Env: []string{"GH_TOKEN=" + Token}, Args: []string{"exec", "--preset", "github-read", "--", "gh", "api", "user", "-q", ".login"}}).Want(t, 0)
	if o.Stdout != "octocat\n" {
		t.Errorf("gh printed %q\nstderr: %s", o.Stdout, o.Stderr)
	}
	for _, seen := range n.Lab.Seen() {
		if seen.Target == "/user" && !seen.Authorized {
			t.Errorf("the upstream saw no credential: %+v", seen)
		}
	}
}
