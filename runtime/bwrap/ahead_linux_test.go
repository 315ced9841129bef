package bwrap_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/pty"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
)

// ahead starts a jail before anything is known of its command.
func (r *rig) ahead(t testing.TB) (*started, stage.Made, *os.File) {
	t.Helper()
	l := layout()
	l.User, l.Home, l.Files = jail.User{}, "", nil
	plan, err := stage.Base(l)
	if err != nil {
		t.Fatal(err)
	}
	pts, err := pty.NewDevpts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pts.Close() })
	channel, end, err := spawn.NewChannel()
	if err != nil {
		t.Fatal(err)
	}
	s := &started{channel: channel}
	if s.cmd, err = r.backend.Command(spec(), jail.Staged{Mounts: plan.Mounts, Init: r.init.File(), Chan: end}); err != nil {
		t.Fatal(err)
	}
	s.process, err = r.pool.Start(s.cmd, spawn.Options{Stage: func() error {
		return plan.Apply(r.dir, stage.Descriptors{Pts: pts.Mount()}, nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.channel.Close(); s.process.Close(); s.cmd.Status.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	pidfd, err := channel.Ready(ctx)
	if err != nil {
		t.Fatal(err, s.process.Complaint())
	}
	t.Cleanup(func() { pidfd.Close() })
	return s, plan.Made(), pidfd
}

// runAhead is run for a jail that was started ahead.
func (r *rig) runAhead(t testing.TB, c command) outcome {
	t.Helper()
	s, made, pidfd := r.ahead(t)
	pts, err := pty.NewDevpts()
	if err != nil {
		t.Fatal(err)
	}
	defer pts.Close()
	c.descs.Pts = pts.Mount()
	plan, err := stage.NewPlan(c.layout)
	if err != nil {
		t.Fatal(err)
	}
	err = plan.Attach(made, func(do func() error) error { return r.pool.Visit(pidfd, do) }, c.descs, c.layout.Grants)
	if err != nil {
		return outcome{err: err}
	}
	s.record(t, r, c)
	return s.finish(t, c)
}

// view is all that a command sees of its files: mounts with their flags, then
// names, modes and owners.
const view = `sed 's/^[0-9]* [0-9]* [0-9:]* //; s/ - / /; s/master:[0-9]* //; s/size=[0-9]*k//' /proc/self/mountinfo | sort
find / -xdev ! -path '/proc/*' -printf '%p %M %u %g %l\n' | sort
find /tmp /dev /home /etc /run -printf '%p %M %U %G %l\n' | sort
cat /etc/passwd`

// TestS26_AJailStartedAheadIsTheSame: the order in which a jail is made shows nowhere.
func TestS26_AJailStartedAheadIsTheSame(t *testing.T) {
	r := newRig(t)
	dir := workspace(t)
	for _, name := range []string{"src/main.go", ".git/config", ".git/hooks/a", ".env", "deep/.git/config"} {
		write(t, filepath.Join(dir, name), "x")
	}
	open := func() command {
		l, d := grants(t, jail.OpenGrant{
			Path: dir, Dir: true, Write: true,
			Held:     []jail.OpenName{{Name: ".git", Dir: true}},
			ReadOnly: []jail.OpenName{{Name: ".git/config"}, {Name: ".git/hooks", Dir: true}},
			Masked:   []jail.OpenName{{Name: ".env"}, {Name: "deep", Dir: true}},
		})
		return command{argv: []string{"/bin/sh", "-c", view}, env: []string{"PATH=/usr/bin:/bin"}, layout: l, descs: d}
	}
	after, ahead := r.run(t, open()), r.runAhead(t, open())
	if after.err != nil || ahead.err != nil || after.exit != ahead.exit {
		t.Fatalf("%v %d %q; ahead %v %d %q %q", after.err, after.exit, after.stderr, ahead.err, ahead.exit, ahead.stderr, ahead.complaint)
	}
	if after.stdout != ahead.stdout {
		t.Errorf("a jail sees\n%s\nand one that was started ahead\n%s", only(after.stdout, ahead.stdout), only(ahead.stdout, after.stdout))
	}
	if !strings.Contains(ahead.stdout, dir+"/.git/hooks ro,") {
		t.Errorf("no mount over the hooks in\n%s", ahead.stdout)
	}
}

// only are the lines of a that b lacks.
func only(a, b string) string {
	has := map[string]bool{}
	for line := range strings.Lines(b) {
		has[line] = true
	}
	var out strings.Builder
	for line := range strings.Lines(a) {
		if !has[line] {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestS26_AJailStartedAheadIsNoOthers: one that was made for another layout is refused.
func TestS26_AJailStartedAheadIsNoOthers(t *testing.T) {
	r := newRig(t)
	for name, change := range map[string]func(*stage.Layout){
		"another /tmp":              func(l *stage.Layout) { l.Tmp = 1 << 20 },
		"a system directory more":   func(l *stage.Layout) { l.System = append(l.System, stage.System{Path: "/opt", Source: "/opt"}) },
		"a system directory fewer":  func(l *stage.Layout) { l.System = l.System[1:] },
		"a mask fewer":              func(l *stage.Layout) { l.Masks = l.Masks[1:] },
		"a directory of the node's": func(l *stage.Layout) { l.Binds = append(l.Binds, stage.Bind{Source: "/etc/ssl", Path: "/etc/ssl"}) },
	} {
		l := layout()
		change(&l)
		if o := r.runAhead(t, command{argv: []string{"/bin/true"}, layout: l, descs: noDescs}); o.err == nil {
			t.Errorf("%s: attached", name)
		}
	}
}
