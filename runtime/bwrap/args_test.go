package bwrap

import (
	"flag"
	"os"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/runtime/oci"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func lowerable() *jail.Spec {
	config := &specs.Spec{
		Hostname: oci.Hostname,
		Process:  &specs.Process{User: specs.User{UID: 1000, GID: 1000}, Args: []string{"never", "lowered"}, Cwd: "/", NoNewPrivileges: true},
		Linux:    &specs.Linux{MaskedPaths: []string{"/proc/kcore"}, ReadonlyPaths: []string{"/proc/sys"}},
	}
	for _, n := range oci.Namespaces {
		config.Linux.Namespaces = append(config.Linux.Namespaces, specs.LinuxNamespace{Type: n})
	}
	return &jail.Spec{OCI: config, Env: jail.EnvPlan{Set: map[string]string{"SECRET": "never lowered"}}}
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
