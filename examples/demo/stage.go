package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/omnijail/omnijail/internal/cleanup"
	"github.com/omnijail/omnijail/internal/lab"
)

// The demo's people are numbers without an entry in any database.
const (
	person    = 61001 // who types the commands
	group     = 61002 // who may open the socket
	egressUID = 61003
)

// shippedPolicy is what rules on a node where nobody has written a policy.
const shippedPolicy = "packaging/etc/default.yaml"

// pretend is the token of the GitHub-like server.
const pretend = "ghp_thisTokenIsTheDemosOwnSecret4711"

// patience bounds a hang of the daemon.
const patience = time.Minute

// stage is a node of its own: a daemon, a person with a home, an upstream.
type stage struct {
	dir   string // root-owned, removed at the end
	token string
	lab   *lab.Upstream // nil when the real GitHub answers
	pid   int           // the daemon's
	undo  cleanup.Stack
}

// build starts a stage. After an error nothing of it is left.
func build(ctx context.Context, live bool) (*stage, error) {
	st := &stage{token: pretend}
	if err := st.build(ctx, live); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

func (st *stage) build(ctx context.Context, live bool) error {
	if live {
		if st.token = os.Getenv("GH_TOKEN"); st.token == "" {
			return errors.New(`DEMO=live needs a login: GH_TOKEN=$(gh auth token) DEMO=live make demo`)
		}
	} else if err := st.startLab(ctx); err != nil {
		return err
	}
	if err := st.furnish(); err != nil {
		return err
	}
	return st.startDaemon()
}

func (st *stage) close() error { return st.undo.Run() }

func (st *stage) startLab(ctx context.Context) (err error) {
	if st.lab, err = lab.NewUpstream(ctx, lab.Options{Token: st.token, Login: "octocat"}); err != nil {
		return err
	}
	st.undo.Add(st.lab.Close)
	return nil
}

// furnish makes the directories. The programs are copied, because a build tree
// need not be root's nor readable to others.
func (st *stage) furnish() (err error) {
	if st.dir, err = os.MkdirTemp("", "omnijail-demo-"); err != nil {
		return err
	}
	st.undo.Add(func() error { return os.RemoveAll(st.dir) })
	if err := os.Chmod(st.dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"bin", "policies", "home", "home/project"} {
		if err := os.Mkdir(st.path(name), 0o755); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chown(st.path("home"), person, person), os.Chown(st.path("home/project"), person, person)); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{"omnijaild", "omnijail-init", "omnijailctl"} {
		if err := copyFile(st.path("bin/"+name), filepath.Join(filepath.Dir(self), name), 0o755); err != nil {
			return fmt.Errorf("%w: run make build", err)
		}
	}
	if err := copyFile(st.path("policies/default.yaml"), shippedPolicy, 0o644); err != nil {
		return fmt.Errorf("%w: run this in the project's root", err)
	}
	return st.configure()
}

func (st *stage) path(name string) string { return filepath.Join(st.dir, name) }

func (st *stage) socket() string { return st.path("run/omnijaild.sock") }

// configure writes the daemon's configuration; JSON is YAML.
func (st *stage) configure() error {
	c := map[string]any{
		"socket": st.socket(), "run_dir": st.path("run"), "state_dir": st.path("state"), "policy_dir": st.path("policies"),
		"group": strconv.Itoa(group), "egress_user": strconv.Itoa(egressUID),
	}
	if st.lab != nil {
		if err := os.WriteFile(st.path("ca.pem"), st.lab.CA(), 0o644); err != nil {
			return err
		}
		c["upstream"] = map[string]any{"hosts": st.lab.Hosts("api.github.com", "github.com"), "ca_files": []string{st.path("ca.pem")}}
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(st.path("omnijaild.yaml"), b, 0o644)
}

// startDaemon returns once the daemon serves.
func (st *stage) startDaemon() error {
	cmd := exec.Command(st.path("bin/omnijaild"), "--config", st.path("omnijaild.yaml"))
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	st.pid = cmd.Process.Pid
	st.undo.Add(func() error {
		stuck := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer stuck.Stop()
		cmd.Process.Signal(syscall.SIGTERM)
		return cmd.Wait()
	})
	lines := bufio.NewReader(log)
	var said strings.Builder
	for {
		text, err := lines.ReadString('\n')
		said.WriteString(text)
		switch {
		case strings.Contains(text, "msg=ready"):
			go io.Copy(io.Discard, lines) // a full pipe would stop the daemon
			return nil
		case err != nil:
			return fmt.Errorf("omnijaild did not start: %s", said.String())
		}
	}
}

// omnijailctl runs the client as the person, whose login is in the environment.
func (st *stage) omnijailctl(ctx context.Context, stdout io.Writer, args ...string) (stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, st.path("bin/omnijailctl"), args...)
	cmd.Dir = st.path("home/project")
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + st.path("home"), "LANG=C.UTF-8",
		"OMNIJAIL_SOCKET=" + st.socket(), "GH_TOKEN=" + st.token}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: person, Gid: person, Groups: []uint32{group}}}
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &errs
	err = cmd.Run()
	return errs.String(), err
}

func copyFile(to, from string, mode os.FileMode) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Chmod(mode), dst.Close())
}
