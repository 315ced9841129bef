package scout

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/child"
)

func goodAsk() child.ScoutAsk {
	return child.ScoutAsk{Open: &child.OpenRequest{
		User: child.User{Home: "/home/u"},
		View: child.View{Cwd: "/w", Grants: []child.Grant{{Path: "/w"}}, Visible: []string{".git*"}},
	}}
}

func TestTheRequestsShape(t *testing.T) {
	if err := checkAsk(goodAsk()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*child.ScoutAsk){
		"nothing":            func(a *child.ScoutAsk) { a.Open = nil },
		"both":               func(a *child.ScoutAsk) { a.Source = &child.SourceRequest{Sources: make([]child.Source, 1), Home: "/h"} },
		"relative cwd":       func(a *child.ScoutAsk) { a.Open.View.Cwd = "w" },
		"unclean grant":      func(a *child.ScoutAsk) { a.Open.View.Grants[0].Path = "/w/../etc" },
		"NUL in a grant":     func(a *child.ScoutAsk) { a.Open.View.Grants[0].Path = "/w\x00" },
		"long path":          func(a *child.ScoutAsk) { a.Open.View.Cwd = "/" + strings.Repeat("x", maxPath) },
		"relative mask":      func(a *child.ScoutAsk) { a.Open.View.Masks = []child.Mask{{Path: ".env"}} },
		"relative pin":       func(a *child.ScoutAsk) { a.Open.View.Pins = []child.Pin{{Path: "p"}} },
		"no home":            func(a *child.ScoutAsk) { a.Open.User.Home = "" },
		"pattern with slash": func(a *child.ScoutAsk) { a.Open.View.Visible = []string{"a/b"} },
		"broken pattern":     func(a *child.ScoutAsk) { a.Open.View.ReadOnly = []string{"["} },
		"many grants":        func(a *child.ScoutAsk) { a.Open.View.Grants = make([]child.Grant, maxPaths+1) },
		"no sources":         func(a *child.ScoutAsk) { *a = child.ScoutAsk{Source: &child.SourceRequest{Home: "/h"}} },
	} {
		a := goodAsk()
		spoil(&a)
		if checkAsk(a) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func FuzzAsk(f *testing.F) {
	good, err := json.Marshal(goodAsk())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"as":{"uid":1},"source":{"sources":[{"file":"x"}],"home":"/h"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a child.ScoutAsk
		if json.Unmarshal(b, &a) != nil || checkAsk(a) != nil || a.Open == nil {
			return
		}
		for _, g := range a.Open.View.Grants {
			if !filepath.IsAbs(g.Path) || strings.Contains(g.Path+"/", "/../") {
				t.Fatalf("grant %q passed", g.Path)
			}
		}
	})
}

func TestShellQuoteMakesOneWord(t *testing.T) {
	for in, want := range map[string]string{
		"/home/u/.token": "/home/u/.token",
		"/a b":           "'/a b'",
		"/$(x)":          "'/$(x)'",
		"/it's":          `'/it'\''s'`,
	} {
		if got := shellQuote(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
