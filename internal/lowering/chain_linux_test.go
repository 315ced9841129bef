package lowering

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred/peercredtest"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/reaper"
	"github.com/omnijail/omnijail/internal/scout/scouttest"
	"github.com/omnijail/omnijail/internal/stage"
	"github.com/omnijail/omnijail/runtime/bwrap"
	"github.com/omnijail/omnijail/runtime/landlock"
)

func TestMain(m *testing.M) { scouttest.Main(m) }

const (
	someone = 1000 // the uid and gid of the user
	hang    = 60 * time.Second
)

// house is the user's files, and who asks for scouts.
type house struct {
	dir string
	as  caller.Child
}

func newHouse(t testing.TB) *house {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "lowering")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &house{dir: dir, as: caller.Child{Init: scouttest.Init(t), Caller: peercredtest.Self(t), Group: scouttest.Group{}}}
	h.own(t, dir)
	return h
}

func (h *house) own(t testing.TB, path string) {
	t.Helper()
	if err := os.Lchown(path, someone, someone); err != nil {
		t.Fatal(err)
	}
}

func (h *house) path(name string) string { return filepath.Join(h.dir, name) }

// build makes files by their names in the house, the user's all of them.
func (h *house) build(t testing.TB, files ...string) {
	t.Helper()
	for _, name := range files {
		for d := filepath.Dir(name); d != "."; d = filepath.Dir(d) {
			if err := os.MkdirAll(h.path(d), 0o755); err != nil {
				t.Fatal(err)
			}
			h.own(t, h.path(d))
		}
		if err := os.WriteFile(h.path(name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		h.own(t, h.path(name))
	}
}

func (h *house) user() jail.User {
	return jail.User{UID: someone, GID: someone, Name: "someone", Home: h.path("home")}
}

// lowered is one policy in all its forms.
type lowered struct {
	spec   *jail.Spec
	reply  jail.OpenReply
	layout stage.Layout
	plan   stage.Plan
	bwrap  []string
	reaper reaper.Order
	places []child.Place
}

// open compiles a document and has a scout open what it is about.
func (h *house) open(t testing.TB, doc *policy.Document, cwd string) (*jail.Spec, *caller.Opened, error) {
	t.Helper()
	spec, err := policy.Compile(doc, policy.Request{Argv: []string{"true"}, Cwd: cwd, User: h.user(), CallerUID: someone, Own: true}, facts())
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	opened, err := caller.Open(ctx, caller.Options{Child: h.as, Request: jail.OpenRequest{
		User: h.user(), View: spec.View, Argv0: []byte("true"), Path: "/usr/bin", SystemDirs: []string{"/usr"},
	}})
	return spec, opened, err
}

// lower takes a document all the way. An error is a refusal.
func (h *house) lower(t testing.TB, doc *policy.Document, cwd string) (_ *lowered, err error) {
	t.Helper()
	l := &lowered{}
	spec, opened, err := h.open(t, doc, cwd)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	l.spec = spec
	l.reply = opened.Reply
	l.layout = h.layout(l.spec, l.reply.Grants)
	if l.plan, err = stage.NewPlan(l.layout); err != nil {
		return nil, err
	}
	l.places = l.layout.Places()
	staged := jail.Staged{Mounts: l.plan.Mounts}
	if l.bwrap, err = bwrap.Args(l.spec, staged); err != nil {
		return nil, err
	}
	l.reaper, err = landlock.Args(l.spec, staged)
	return l, err
}

// facts are those of a node where everything works.
func facts() policy.Facts {
	return policy.Facts{
		Guarantees: map[string][]jail.Guarantee{bwrap.Name: jail.Guarantees, landlock.Name: jail.Guarantees},
		Backends:   []string{bwrap.Name}, SocketGID: 990,
		System: []policy.SystemDir{{Path: "/usr"}, {Path: "/bin", Link: "usr/bin"}},
	}
}

// layout is what the daemon makes of a Spec and a scout's answer, with one file
// for all of the composed /etc.
func (h *house) layout(spec *jail.Spec, grants []jail.OpenGrant) stage.Layout {
	l := stage.Layout{
		User: h.user(), Home: policy.ScratchHome(h.user()), Grants: grants,
		Files: []stage.File{{Path: "/etc/passwd", Mode: 0o644}},
	}
	for _, m := range spec.OCI.Mounts {
		switch m.Type {
		case "bind":
			l.System = append(l.System, stage.System{Path: m.Destination, Source: m.Source})
		case "symlink":
			l.System = append(l.System, stage.System{Path: m.Destination, Link: m.Source})
		}
	}
	for _, p := range spec.OCI.Linux.MaskedPaths {
		l.Masks = append(l.Masks, stage.ProcMask{Path: p})
	}
	return l
}
