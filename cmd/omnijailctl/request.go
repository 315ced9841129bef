package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

// workingDirectory is where this process is, and not by which links $PWD says
// that it came there: the daemon follows none to a working directory.
func (f *execFlags) workingDirectory() (string, error) {
	if filepath.IsAbs(f.cwd) {
		return filepath.Clean(f.cwd), nil
	}
	here, err := syscall.Getwd()
	return filepath.Join(here, f.cwd), err
}

// request turns flags and the caller's environment into what the daemon is
// asked. JSON would silently replace what is not UTF-8: the command and the
// directory travel encoded then, anything else is refused.
func (f *execFlags) request(argv []string) (api.ExecRequest, error) {
	req := api.ExecRequest{Add: f.add, User: f.user, Memory: f.memory, Pids: f.pids, Backend: f.backend}
	var err error
	if req.Publish, err = ports("--publish", f.publish); err != nil {
		return req, err
	}
	if req.NodePorts, err = ports("--node-port", f.nodePort); err != nil {
		return req, err
	}
	for flag, values := range map[string][]string{
		"--policy": {f.policy}, "--user": {f.user}, "--backend": {f.backend}, "--memory": {f.memory},
		"--preset": f.add.Presets, "--write": f.add.Write, "--read": f.add.Read, "--allow": f.add.Allow,
	} {
		if i := slices.IndexFunc(values, notUTF8); i >= 0 {
			return req, fmt.Errorf("%s %q: is not UTF-8", flag, values[i])
		}
	}
	cwd, err := f.workingDirectory()
	if err != nil {
		return req, fmt.Errorf("the working directory is gone: %w", err)
	}
	if notUTF8(cwd) {
		req.CwdB64 = []byte(cwd)
	} else {
		req.Cwd = cwd
	}
	if slices.ContainsFunc(argv, notUTF8) {
		for _, a := range argv {
			req.ArgvB64 = append(req.ArgvB64, []byte(a))
		}
	} else {
		req.Argv = argv
	}
	if req.Env, err = f.environ(); err != nil {
		return req, err
	}
	if f.timeout > 0 {
		req.Timeout = f.timeout.String()
	}
	return req, nil
}

// ports are numbers that a port can have.
func ports(flag string, numbers []uint) (out []uint16, err error) {
	for _, n := range numbers {
		if n == 0 || n > math.MaxUint16 {
			return nil, usageError{error: fmt.Errorf("%s %d: is no port", flag, n)}
		}
		out = append(out, uint16(n))
	}
	return out, nil
}

// inside is the part of a request that a command in a jail can have. The working
// directory is the jail's unless it was named.
func (f *execFlags) inside(req api.ExecRequest) api.CommandRequest {
	in := api.CommandRequest{
		Argv: req.Argv, ArgvB64: req.ArgvB64, Env: req.Env, Timeout: req.Timeout, Context: map[string]string{},
	}
	if f.cwd != "" {
		in.Cwd, in.CwdB64 = req.Cwd, req.CwdB64
	}
	for _, name := range (&policy.Document{}).PassNames() {
		if v, ok := os.LookupEnv(name); ok && utf8.ValidString(v) {
			in.Context[name] = v
		}
	}
	return in
}

// environ is what --env says. A name without a value takes the caller's own; one
// that is not set there stays unset.
func (f *execFlags) environ() (map[string]string, error) {
	env := map[string]string{}
	for _, kv := range f.env {
		k, v, given := strings.Cut(kv, "=")
		if k == "" {
			return nil, usageError{error: errors.New("--env: a value without a name")}
		}
		if !given {
			if v, given = os.LookupEnv(k); !given {
				continue
			}
		}
		if notUTF8(k) || notUTF8(v) {
			return nil, fmt.Errorf("--env %q: its value is not UTF-8", k)
		}
		env[k] = v
	}
	return env, nil
}

func notUTF8(s string) bool { return !utf8.ValidString(s) }
