package bwrap

import (
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/jail"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func lowerable() *jail.Spec {
	oci := &specs.Spec{
		Hostname: hostname,
		Process:  &specs.Process{User: specs.User{UID: 1000, GID: 1000}, Args: []string{"never", "lowered"}, Cwd: "/", NoNewPrivileges: true},
		Linux:    &specs.Linux{MaskedPaths: []string{"/proc/kcore"}, ReadonlyPaths: []string{"/proc/sys"}},
	}
	for _, n := range namespaces {
		oci.Linux.Namespaces = append(oci.Linux.Namespaces, specs.LinuxNamespace{Type: n})
	}
	return &jail.Spec{OCI: oci, Env: jail.EnvPlan{Set: map[string]string{"SECRET": "never lowered"}}}
}

func TestArgsGolden(t *testing.T) {
	args, err := Args(lowerable(), jail.Staged{Mounts: []jail.StagedMount{
		{Source: "/root", Dest: "/", Dir: true},
		{Source: "/empty/file", Dest: "/proc/kcore", ReadOnly: true},
		{Source: "/trees/a", Dest: "/home/u/a/b", Dir: true},
		{Source: "/trees/c", Dest: "/home/u/c", Dir: true, ReadOnly: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, a := range args {
		if strings.HasPrefix(a, "--") && got.Len() > 0 {
			got.WriteByte('\n')
		} else if got.Len() > 0 {
			got.WriteByte(' ')
		}
		got.WriteString(a)
	}
	got.WriteByte('\n')
	const golden = "testdata/args.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	for _, never := range []string{"lowered", "--unshare-net", "--unshare-user", "--new-session", "--setenv", "--dev\n"} {
		if strings.Contains(got.String(), never) {
			t.Errorf("%q is in the options", never)
		}
	}
}

func TestArgsRefusesUnsafeMounts(t *testing.T) {
	for name, mounts := range map[string][]jail.StagedMount{
		"inside a bound directory": {{Source: "/a", Dest: "/ws"}, {Source: "/b", Dest: "/ws/config"}},
		"relative source":          {{Source: "a", Dest: "/ws"}},
		"dots":                     {{Source: "/a", Dest: "/ws/../etc"}},
	} {
		if _, err := Args(lowerable(), jail.Staged{Mounts: mounts}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Every field of an OCI spec is classified, and no class names a field that is
// not there.
func TestEveryFieldIsClassified(t *testing.T) {
	seen := map[string]bool{}
	var walk func(typ reflect.Type, prefix string)
	walk = func(typ reflect.Type, prefix string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			name := prefix + f.Name
			seen[name] = true
			c := classes[name]
			if c == 0 {
				t.Errorf("%s is not classified", name)
			}
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if c == enforced && inner.Kind() == reflect.Struct {
				walk(inner, name+".")
			}
		}
	}
	walk(reflect.TypeFor[specs.Spec](), "")
	for name := range classes {
		if !seen[name] {
			t.Errorf("%s is classified and does not exist", name)
		}
	}
}

// A value in any rejected field is refused by name, whatever its type.
func TestRejectedFieldsAreRefused(t *testing.T) {
	for name, c := range classes {
		if c != rejected {
			continue
		}
		spec := lowerable()
		if err := check(spec); err != nil {
			t.Fatal(err)
		}
		spec.OCI.Process.Capabilities = &specs.LinuxCapabilities{}
		fill(reflect.ValueOf(spec.OCI).Elem(), strings.Split(name, "."))
		var refused *jail.UnsupportedError
		if err := check(spec); !errors.As(err, &refused) || !strings.Contains(refused.Feature, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fill puts some non-zero value into the field at path.
func fill(v reflect.Value, path []string) {
	f := v.FieldByName(path[0])
	if len(path) > 1 {
		if f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		fill(f, path[1:])
		return
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString("x")
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
	case reflect.Map:
		m := reflect.MakeMap(f.Type())
		m.SetMapIndex(reflect.New(f.Type().Key()).Elem(), reflect.New(f.Type().Elem()).Elem())
		f.Set(m)
	default:
		panic("no value for a " + f.Type().String())
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*specs.Spec){
		"uid 0":             func(s *specs.Spec) { s.Process.User.UID = 0 },
		"gid 0":             func(s *specs.Spec) { s.Process.User.GID = 0 },
		"new privileges":    func(s *specs.Spec) { s.Process.NoNewPrivileges = false },
		"hostname":          func(s *specs.Spec) { s.Hostname = "node" },
		"no network ns":     func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[:5] },
		"a user ns":         func(s *specs.Spec) { s.Linux.Namespaces[0].Type = specs.UserNamespace },
		"a joined ns":       func(s *specs.Spec) { s.Linux.Namespaces[0].Path = "/proc/1/ns/net" },
		"a mask outside":    func(s *specs.Spec) { s.Linux.MaskedPaths = []string{"/etc/shadow"} },
		"a read-only place": func(s *specs.Spec) { s.Linux.ReadonlyPaths = []string{"/home"} },
		"no process":        func(s *specs.Spec) { s.Process = nil },
	} {
		spec := lowerable()
		spoil(spec.OCI)
		if _, err := Args(spec, jail.Staged{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
