package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// node is the world outside of the jails that a run starts, and what it planted
// there.
type node struct {
	base   context.Context // of everything that the run starts
	config Config
	dir    string // all that was planted in files lies below
	work   string // the workspace
	self   string // the program, as jails see it
	policy string
	secret string // the credential
	site   Site
	undo   []func()

	// start returns a command in a jail, or for a control without one. It fails
	// when a jail ends it with its context.
	start func(ctx context.Context, flags []string, argv ...string) *exec.Cmd
	// give starts a command that does nothing, with a descriptor as its input.
	give func(*os.File) error
}

// ample is more than a jail needs that is not stuck.
const ample = time.Minute

// within bounds what takes part in the run.
func (n *node) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(n.base, d)
}

// inJail is start for real runs: the daemon's ordinary API, by the client that
// every user has.
func (n *node) inJail(ctx context.Context, flags []string, argv ...string) *exec.Cmd {
	list := []string{"exec", "--policy", n.policy, "--cwd", n.work}
	if n.config.Backend != "" {
		list = append(list, "--backend", n.config.Backend)
	}
	if n.config.User != "" {
		list = append(list, "--user", n.config.User)
	}
	list = append(append(list, flags...), "--")
	return n.plain(ctx, n.work, append(list, argv...)...)
}

// plain is the client with arguments of its own.
func (n *node) plain(ctx context.Context, dir string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.config.Program, append(n.config.Globals, argv...)...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// probe has attempts of one group made in one jail.
func (n *node) probe(g group, names []string) map[string]Finding {
	ctx, cancel := n.within(ample)
	defer cancel()
	site := n.site
	var flags []string
	if site.Write = g.needsWrite() && n.config.write; site.Write {
		flags = []string{"--write", n.work}
	}
	if g == terminal {
		flags = append(flags, "--tty")
	}
	told, err := json.Marshal(site)
	if err != nil {
		panic(fmt.Sprintf("omnijail: internal error: the site does not encode: %v", err))
	}
	cmd := n.start(ctx, flags, append([]string{n.self, "probe", "--site", string(told)}, names...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	release, err := n.load(g, cmd)
	if err != nil {
		return missed(names, err.Error())
	}
	err = cmd.Run()
	release()
	found := read(out.Bytes())
	why := "the jail ended before it was made"
	if g == compat && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 128+int(unix.SIGSEGV) {
		why = "the kernel does not have this ABI"
	} else if err != nil {
		why += fmt.Sprintf(" (%v): %s", err, firstLine(errs.Bytes()))
	}
	for name, f := range missed(names, why) {
		if _, made := found[name]; !made {
			found[name] = f
		}
	}
	return found
}

// read takes the lines that Probe wrote.
func read(out []byte) map[string]Finding {
	found := map[string]Finding{}
	for text := range strings.Lines(string(out)) {
		var l line
		if json.Unmarshal([]byte(strings.TrimSpace(text)), &l) == nil && l.Attempt != "" {
			found[l.Attempt] = l.Finding
		}
	}
	return found
}

func missed(names []string, why string) map[string]Finding {
	out := map[string]Finding{}
	for _, name := range names {
		out[name] = notRun("%s", why)
	}
	return out
}

// intact turns a finding into an escape when the workspace was changed where it
// must not be.
func (n *node) intact(f Finding) Finding {
	if n.site.Via != "" {
		return f
	}
	for name, want := range furniture {
		got, err := os.ReadFile(filepath.Join(n.work, name))
		if err != nil || string(got) != want {
			return succeeded("%s is changed outside: %v", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(n.work, gitHook)); !errors.Is(err, os.ErrNotExist) {
		return succeeded("%s is there outside", gitHook)
	}
	return f
}

func firstLine(out []byte) string {
	text, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return text
}
