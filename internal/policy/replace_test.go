package policy

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

const runningPolicy = `
write_paths: ["."]
egress_rules: ["GET a.test/**"]
credential_proxy: [{name: a, type: https_bearer, target: a.test, env: A, source: {file: ~/a}}]
`

func compiled(t *testing.T, doc *Document) *jail.Spec {
	t.Helper()
	spec, err := Compile(doc, request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// What a running jail was made by stays: a document that says otherwise is refused,
// with all of its keys named; the network's part alone is taken over.
func TestReplaceIsForTheNetworkAlone(t *testing.T) {
	was := inline(t, runningPolicy)
	running := compiled(t, was)
	for yaml, keys := range map[string]string{
		runningPolicy: "",
		"write_paths: ['/home/alice/app']\negress_rules: ['POST b.test']\non_misuse: freeze\nweaken: [private_destinations]": "",
		"egress_rules: ['GET a.test/**']":              "write_paths",
		runningPolicy + "read_paths: [/opt/x]\n":       "read_paths",
		runningPolicy + "env: {A2: b}\nobserve: true":  "env observe",
		runningPolicy + "weaken: [ptrace]":             "weaken",
		runningPolicy + "limits: {memory: 1GiB}":       "limits",
		runningPolicy + "cwd_allow_hidden: [.npmrc]":   "cwd_allow_hidden",
		runningPolicy + "proxy_env: true\nmax_age: 1h": "max_age proxy_env",
	} {
		doc := inline(t, yaml)
		spec, err := Replace(running, was, doc, request(), facts())
		var got []string
		if err != nil {
			for _, e := range asErrors(t, err) {
				got = append(got, e.Key)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != keys {
			t.Errorf("%s\nrefuses %q: %v, want %q", yaml, got, err, keys)
		}
		if err == nil && (!reflect.DeepEqual(spec.View, running.View) || !reflect.DeepEqual(spec.Limits, running.Limits) || spec.OCI != running.OCI) {
			t.Errorf("%s: more than the network has changed", yaml)
		}
		if err == nil && len(spec.Rules) != 1 {
			t.Errorf("%s: rules %v", yaml, spec.Rules)
		}
	}
}

// Each part of a document is one that can change, one that cannot, or about it.
func TestReplaceKnowsEveryPart(t *testing.T) {
	others := []string{"Ref", "Closed", "Files", "Notes", "Description", "Extends", "Caller",
		"Rules", "Credentials", "OnMisuse", "OnReflection", "OnMinted", "BodyCheck", "Denied", "SwapAt", "tree"}
	typ := reflect.TypeFor[Document]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if slices.Contains(others, f.Name) {
			continue
		}
		var doc Document
		v := reflect.ValueOf(&doc).Elem().Field(i)
		switch {
		case f.Type == reflect.TypeFor[[]Item]():
			v.Set(reflect.ValueOf([]Item{{Text: "x"}}))
		case f.Type == reflect.TypeFor[Item]():
			v.Set(reflect.ValueOf(Item{Text: "x"}))
		case f.Type == reflect.TypeFor[jail.Limits]():
			doc.Limits.Pids = 7
		case v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(f.Type, 1, 1))
		case v.Kind() == reflect.Map:
			v.Set(reflect.ValueOf(map[string]string{"A": "b"}))
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.Kind() == reflect.String:
			v.SetString("x")
		default:
			v.SetInt(7)
		}
		rep := &report{}
		checkFixed(&Document{}, &doc, request(), rep)
		if len(rep.errs) != 1 {
			t.Errorf("%s: another one is refused as %v", f.Name, rep.errs)
		}
	}
}

func TestDifferSaysWhatChanges(t *testing.T) {
	was := compiled(t, inline(t, runningPolicy))
	is := compiled(t, inline(t, `
write_paths: ["."]
egress_rules: ["GET b.test/**", "GET a.test/**"]
on_misuse: freeze
credential_proxy: [{name: b, type: https_bearer, target: b.test, source: {file: ~/b}}]
`))
	want := Difference{
		AllowsMore: []string{"GET b.test/**"}, Binds: []string{"b (https_bearer to b.test)"},
		Unbinds: []string{"a (https_bearer to a.test)"}, Settings: []string{"on_misuse: freeze, was deny"},
	}
	if got := Differ(was, is); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if d := Differ(is, is); !reflect.DeepEqual(d, Difference{}) {
		t.Errorf("of itself it differs by %+v", d)
	}
}

// S03: the file of the next policy is none that the jail could write.
func TestS03_AReplacementIsNotTheJailsOwn(t *testing.T) {
	was := inline(t, runningPolicy)
	running := compiled(t, was)
	doc := inline(t, runningPolicy)
	doc.Files = []string{"/home/alice/app/other.yaml"}
	if _, err := Replace(running, was, doc, request(), facts()); err == nil {
		t.Error("a file in a writable tree is obeyed")
	}
	doc.Files = []string{"/home/alice/elsewhere.yaml"}
	if _, err := Replace(running, was, doc, request(), facts()); err != nil {
		t.Error(err)
	}
}

// S07: what was the operator's stays closed, whatever root puts in its place.
func TestS07_AReplacedClosedPolicyStaysClosed(t *testing.T) {
	was := closed(t, runningPolicy)
	running := compiled(t, was)
	spec, err := Replace(running, was, inline(t, runningPolicy), request(), facts())
	if err != nil || spec.Closed == nil {
		t.Errorf("%v, %v", spec, err)
	}
}
