package policy

import (
	"slices"
	"strings"
	"testing"
)

// What gives more than a task needs is said when the policy is loaded, with its line.
// Nothing is said of what a project is made of.
func TestBroadAndCredentialGrantsAreSaid(t *testing.T) {
	const credentials, broadly, outside = "credentials are kept there", "far more than one task needs", "your programs outside run"
	for path, want := range map[string]string{
		"~/.ssh": credentials, "~/.aws/credentials": credentials, "~/.config/gh/hosts.yml": credentials, "~/.netrc": credentials,
		"~/.config/gcloud/logs": credentials, "~/.docker": credentials, "/srv/app/server.key": credentials, "./.env.local": credentials,
		"/var/lib": broadly, "/srv": broadly, "~/.config": broadly, "~/.local/share": broadly, "~/Documents": broadly,
		"~/src/omnijail": "", "~/src/credentials-ui": "", "/srv/app": "", "~/.config/nvim": "", "./.github": "", "/var/lib/postgresql/x": "",
	} {
		spec, err := Compile(inline(t, "description: x\nread_paths:\n  - "+path+"\n"), request(), facts())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wantWarning(t, spec.Warnings, path, "p.yaml:3: read ", want)
	}
	for path, want := range map[string]string{
		"~/.cargo": outside, "~/.cargo/bin": outside, "~/go/bin/x": outside, "~/.local/bin": outside, "~/.npm": outside, "~/.ssh/known_hosts": credentials,
		"~/app": "", "~/goods": "",
	} {
		spec, err := Compile(inline(t, "write_paths: ["+path+"]"), request(), facts())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wantWarning(t, spec.Warnings, path, "p.yaml:1: write ", want)
	}
	req := request()
	req.Add.Read = []string{"/home/alice/.ssh"}
	spec, err := Compile(inline(t, ""), req, facts())
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, spec.Warnings, "a flag", "--read: ", credentials)
	doc := closed(t, "read_paths: [/srv]\ncaller: [cwd, read]\n")
	if spec, err = Compile(doc, req, facts()); err != nil {
		t.Fatal(err)
	}
	wantWarning(t, spec.Warnings, "a flag beside an operator's policy", "--read: ", credentials)
}

func wantWarning(t *testing.T, warnings []string, path, start, want string) {
	t.Helper()
	said := func(w string) bool { return strings.HasPrefix(w, start) && strings.Contains(w, want) }
	if want == "" && len(warnings) > 0 || want != "" && (len(warnings) != 1 || !slices.ContainsFunc(warnings, said)) {
		t.Errorf("%s: %q, want %q", path, warnings, want)
	}
}
