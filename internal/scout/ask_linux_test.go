package scout

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/jail"
)

func goodAsk() jail.ScoutAsk {
	return jail.ScoutAsk{Open: &jail.OpenRequest{
		User: jail.User{Home: "/home/u"},
		View: jail.View{Cwd: "/w", Grants: []jail.Grant{{Path: "/w"}}, Visible: []string{".git*"}},
	}}
}

func TestTheRequestsShape(t *testing.T) {
	if err := checkAsk(goodAsk()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*jail.ScoutAsk){
		"nothing":            func(a *jail.ScoutAsk) { a.Open = nil },
		"both":               func(a *jail.ScoutAsk) { a.Source = &jail.SourceRequest{Sources: make([]creds.Source, 1), Home: "/h"} },
		"relative cwd":       func(a *jail.ScoutAsk) { a.Open.View.Cwd = "w" },
		"unclean grant":      func(a *jail.ScoutAsk) { a.Open.View.Grants[0].Path = "/w/../etc" },
		"NUL in a grant":     func(a *jail.ScoutAsk) { a.Open.View.Grants[0].Path = "/w\x00" },
		"long path":          func(a *jail.ScoutAsk) { a.Open.View.Cwd = "/" + strings.Repeat("x", maxPath) },
		"relative mask":      func(a *jail.ScoutAsk) { a.Open.View.Masks = []jail.Mask{{Path: ".env"}} },
		"relative pin":       func(a *jail.ScoutAsk) { a.Open.View.Pins = []jail.Pin{{Path: "p"}} },
		"no home":            func(a *jail.ScoutAsk) { a.Open.User.Home = "" },
		"pattern with slash": func(a *jail.ScoutAsk) { a.Open.View.Visible = []string{"a/b"} },
		"broken pattern":     func(a *jail.ScoutAsk) { a.Open.View.ReadOnly = []string{"["} },
		"many grants":        func(a *jail.ScoutAsk) { a.Open.View.Grants = make([]jail.Grant, maxPaths+1) },
		"no sources":         func(a *jail.ScoutAsk) { *a = jail.ScoutAsk{Source: &jail.SourceRequest{Home: "/h"}} },
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
	f.Add([]byte(`{"as":{"uid":1},"source":{"sources":[{"kind":"file","file":"x"}],"home":"/h"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a jail.ScoutAsk
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
