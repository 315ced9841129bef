package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Client runs programs with an environment of its own. Nothing is inherited: a
// developer's machine sets CA and proxy variables that would decide a test.
type Client struct {
	Dir   string
	Env   []string // PATH is added if it is missing
	Stdin io.Reader
	UID   uint32 // run as this uid and gid; 0 means as this process
}

// Output is what a program left. Exit is 128+n after signal n.
type Output struct {
	Stdout, Stderr string
	Exit           int
}

// Run runs argv to its end. An exit code is no error; a program that cannot be
// started, or that ctx ended, is.
func (c Client) Run(ctx context.Context, argv ...string) (Output, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = c.Dir, c.Stdin
	cmd.Env = append([]string{"PATH=" + defaultPath}, c.Env...) // the last of a name counts
	if c.UID != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.UID, Gid: c.UID}}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	result := Output{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || ctx.Err() != nil {
		return result, errors.Join(err, ctx.Err())
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		result.Exit = 128 + int(ws.Signal())
	}
	return result, nil
}

// TrustCA returns the variables that make common clients trust the CA
// certificates in file, and nobody else.
func TrustCA(file string) (env []string) {
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
		"NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT"} {
		env = append(env, name+"="+file)
	}
	return env
}
