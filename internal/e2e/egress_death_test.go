package e2e

import (
	"bytes"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// An egress process that dies in the middle of a request takes the exec with it,
// and nothing of it comes back: the next jail has another CA, other placeholders
// and another process.
func TestS12_DeathInTheMiddleOfARequest(t *testing.T) {
	n := NewNode(t, Options{})
	env := []string{"GH_TOKEN=" + Token}
	flags := []string{"exec", "--preset", "github-read", "--allow", "GET example.test/hold", "--"}
	tell := func() (placeholder, ca string) {
		o := n.Run(t, Ctl{UID: Alice, Env: env, Args: append(flags[:len(flags):len(flags)], "sh", "-c", "echo $GH_TOKEN; cat /run/omnijail/ca.pem")}).Want(t, 0)
		placeholder, ca, _ = strings.Cut(o.Stdout, "\n")
		return placeholder, ca
	}
	oldPlaceholder, oldCA := tell()
	before := egressOf(t, n)

	// The end of the exec comes a moment after that of the request.
	cmd := n.Command(t, Ctl{UID: Alice, Env: env, Args: append(flags[:len(flags):len(flags)],
		"sh", "-c", "echo $GH_TOKEN; curl -sS https://example.test/hold; sleep 20; echo it went on")})
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the request is held upstream", func() bool {
		for _, seen := range n.Lab.Seen() {
			if seen.Target == "/hold" {
				return true
			}
		}
		return false
	})
	for _, pid := range before {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != 125 || !strings.Contains(errs.String(), "the egress process of this jail ended") {
		t.Errorf("exit %d\nstderr: %s", cmd.ProcessState.ExitCode(), errs.String())
	}
	if strings.Contains(out.String(), "it went on") {
		t.Errorf("the command went on without a network: %s", out.String())
	}
	died := regexp.MustCompile(`oa_cred_\S+`).FindString(out.String())

	placeholder, ca := tell()
	if placeholder == "" || placeholder == oldPlaceholder || placeholder == died {
		t.Errorf("placeholder %q again", placeholder)
	}
	if ca == "" || ca == oldCA {
		t.Error("the CA is the old one")
	}
	for _, pid := range egressOf(t, n) {
		for _, old := range before {
			if pid == old {
				t.Errorf("process %d lives", pid)
			}
		}
	}
}
