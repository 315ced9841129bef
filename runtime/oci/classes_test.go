package oci

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/jail"
)

func lowerable() *jail.Spec {
	config := &specs.Spec{
		Hostname: Hostname,
		Process:  &specs.Process{User: specs.User{UID: 1000, GID: 1000}, Args: []string{"never", "lowered"}, Cwd: "/", NoNewPrivileges: true},
		Linux:    &specs.Linux{MaskedPaths: []string{"/proc/kcore"}, ReadonlyPaths: []string{"/proc/sys"}},
	}
	for _, n := range Namespaces {
		config.Linux.Namespaces = append(config.Linux.Namespaces, specs.LinuxNamespace{Type: n})
	}
	return &jail.Spec{OCI: config}
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
		if err := Check("linux_x", spec); err != nil {
			t.Fatal(err)
		}
		spec.OCI.Process.Capabilities = &specs.LinuxCapabilities{}
		fill(reflect.ValueOf(spec.OCI).Elem(), strings.Split(name, "."))
		var refused *jail.UnsupportedError
		if err := Check("linux_x", spec); !errors.As(err, &refused) || !strings.Contains(refused.Feature, name) {
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
		if err := Check("linux_x", spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
