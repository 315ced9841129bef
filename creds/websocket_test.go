package creds

import "testing"

func TestS19_WebSocketOfABoundHost(t *testing.T) {
	opens := func(name, target string, open bool) Binding {
		a, path, err := ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		return Binding{
			Name: name, Type: Bearer, Foreign: ForeignForward, WebSocket: open,
			Targets: []Target{{Authority: a, Path: path, Scheme: SchemeBearer}},
			Sources: []Source{{Kind: SourceEnv, Env: "TOKEN"}},
		}
	}
	for _, c := range []struct {
		name        string
		bindings    []Binding
		bound, open bool
	}{
		{"no binding", nil, false, true},
		{"another host", []Binding{opens("a", "other.example", false)}, false, true},
		{"closed", []Binding{opens("a", "api.example", false)}, true, false},
		{"open", []Binding{opens("a", "api.example", true)}, true, true},
		{"open, closed on another port", []Binding{opens("a", "api.example", true), opens("b", "api.example:8443", false)}, true, false},
		{"closed on another path", []Binding{opens("a", "api.example/other/**", false)}, true, false},
	} {
		table, err := NewTable(c.bindings)
		if err != nil {
			t.Fatal(err)
		}
		if bound, open := table.WebSocket("api.example"); bound != c.bound || open != c.open {
			t.Errorf("%s: bound %v, open %v", c.name, bound, open)
		}
	}
}
