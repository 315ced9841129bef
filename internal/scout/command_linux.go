package scout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// commandTime bounds a source command; drainTime how long its pipes may stay open
// in the hands of children that it left behind.
const (
	commandTime = 30 * time.Second
	drainTime   = time.Second
)

var errTooLong = errors.New("too much output")

// run runs a source command as the caller, outside of the jail: so neither the
// program nor any file it names nor any directory it is looked up in may be the
// jail's to write.
func (s *sources) run(argv []string) ([]byte, error) {
	name := fmt.Sprintf("%q", strings.Join(argv, " "))
	if strings.ContainsRune(strings.Join(argv, ""), 0) {
		return nil, refuse("source", "%s is not a command", name)
	}
	exe, err := find(argv[0], s.env("PATH"), "/")
	if err != nil {
		return nil, &noValue{reason: fmt.Sprintf("credential command %s: %v", name, err), exit: exitNotFound}
	}
	if strings.Contains(argv[0], "/") && !strings.HasPrefix(argv[0], "/") {
		return nil, refuse("source", "the command %s has to be absolute or found in your PATH", name)
	}
	if err := s.checkCommand(exe, argv[1:]); err != nil {
		return nil, err
	}
	out := &limited{limit: valueBytes}
	errOut := &tail{limit: errorBytes}
	err = s.start(exe, argv, out, errOut)
	s.stderr.Write(errOut.buf)
	return out.buf.Bytes(), commandError(name, err)
}

func commandError(name string, err error) error {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.Exited() {
		return &noValue{reason: fmt.Sprintf("%s failed for you (exit %d)", name, e.ExitCode()), exit: e.ExitCode()}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return refuse("source", "%s did not end within %v", name, commandTime)
	}
	return refuse("source", "%s failed for you (%v)", name, err)
}

// checkCommand looks at the program, at what interprets it and at each argument
// that names a file, by itself or after "=".
func (s *sources) checkCommand(exe string, args []string) error {
	if err := s.outside(exe); err != nil {
		return err
	}
	words := append(interpreter(exe), args...)
	for _, w := range words {
		_, value, _ := strings.Cut(w, "=")
		for _, word := range []string{w, value} {
			if word == "" {
				continue
			}
			if err := s.outsideIfFile(word); err != nil {
				return err
			}
		}
	}
	return nil
}

// interpreter returns the words of a script's first line.
func interpreter(exe string) []string {
	f, err := os.Open(exe)
	if err != nil {
		return nil // executable and not readable: no script that runs
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, script := bytes.CutPrefix(head[:n], []byte("#!"))
	if !script {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strings.Fields(string(line))
}

// start runs the command to its end: in a session of its own, with the given
// environment and nothing else, from the root directory.
func (s *sources) start(exe string, argv []string, out, errOut interface{ Write([]byte) (int, error) }) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Args = argv
	cmd.Env = s.commandEnv()
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = out, errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = drainTime
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// env returns the value of a variable of the request's environment.
func (s *sources) env(key string) string {
	for _, kv := range s.req.Env {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

// commandEnv is the given environment, with a PATH that holds no directory of the
// jail's: a program run by the command is looked up there too.
func (s *sources) commandEnv() []string {
	env := []string{} // not nil: nil would inherit
	for _, kv := range s.req.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			kv = "PATH=" + s.safePath(path)
		}
		env = append(env, kv)
	}
	return env
}

func (s *sources) safePath(path string) string {
	var keep []string
	for dir := range strings.SplitSeq(path, ":") {
		if strings.HasPrefix(dir, "/") && s.outsideDir(dir) == nil {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, ":")
}
