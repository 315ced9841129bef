package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// textsPolicy is a default policy whose fourth line is a rule.
const textsPolicy = `description: read GitHub with your login
caller: [cwd, tty, timeout, preset, write, read, allow]
egress_rules:
  - "GET,HEAD api.github.com/**"
  - "GET,HEAD github.com/**"
  - "GET ghe.example.com/**"
  - "GET other.test/**"
credential_proxy:
  - name: github
    type: gh_basic
    optional: true
    source: [{env: GH_TOKEN}, {command: gh auth token}]
`

const commandPolicy = `
egress_rules: ["GET api.example.test/**"]
credential_proxy:
  - {name: github, type: https_bearer, target: api.example.test, resolve: start, source: {command: "op read op://x"}}
`

const localPolicy = `write_paths: ["."]
egress_rules: ["GET api.github.com/**", "GET github.com/**"]
credential_proxy:
  - {type: gh_basic, source: {command: gh auth token}}
`

// text is one thing that omnijailctl says, and how to make it say so.
type text struct {
	name string
	run  Ctl
	want []string // lines of ours, in their order; ids and the node's paths as in the documentation
}

var ids = regexp.MustCompile(`\b(id|why) [0-9a-f]{8}\b`)

// check provokes each text.
func check(t *testing.T, n *Node, texts []text) {
	for _, c := range texts {
		t.Run(c.name, func(t *testing.T) {
			if len(c.run.Args) > 0 && c.run.Args[0] == "exec" && c.run.Dir == "" && c.run.UID != Outsider {
				c.run.Dir = n.Project(t, Alice)
			}
			o := n.Run(t, c.run)
			got := ids.ReplaceAllString(ours(o.Stderr), "$1 7f3a")
			for from, to := range map[string]string{
				n.Dir + "/policies": "/etc/omnijail/policies", n.Dir + "/gone/s": "/run/omnijail/omnijaild.sock",
			} {
				got = strings.ReplaceAll(got, from, to)
			}
			if want := strings.Join(c.want, "\n") + "\n"; got != want {
				t.Errorf("exit %d; said:\n%swant:\n%sthe command:\n%s%s", o.Exit, got, want, o.Stdout, o.Stderr)
			}
		})
	}
}

func command(args ...string) []string { return append([]string{"exec", "--"}, args...) }

// quiet is command for a program whose own words would mix with ours.
func quiet(args ...string) []string {
	return append(command("sh", "-c", `exec "$@" >/dev/null 2>&1`, "sh"), args...)
}

func TestTexts(t *testing.T) {
	t.Parallel()
	dns := newResolver(t, map[string][]string{"ghe.example.com": {"10.20.1.5"}})
	n := NewNode(t, Options{DNS: dns.Addr, Policy: map[string]string{"default": textsPolicy, "op": commandPolicy, "masking": "caller: [cwd]\nmask_paths: [src/x]\n"}})
	token := []string{"GH_TOKEN=" + Token}
	untrusted := n.Workspace(t, Alice, map[string]string{".omnijail.yaml": localPolicy})
	dotted := n.Workspace(t, Alice, map[string]string{".env": "A=b", ".npmrc": "x", ".foo": "", ".gitignore": "", "src/x": ""})
	bin := n.Workspace(t, Alice, map[string]string{"op": "#!/bin/sh\nprintf 'not signed in\\033[31m\\n' >&2\nexit 1\n"})
	if err := os.Chmod(filepath.Join(bin, "op"), 0o755); err != nil {
		t.Fatal(err)
	}
	check(t, n, []text{
		{"1 no daemon", Ctl{UID: Alice, Args: append([]string{"--socket", n.Dir + "/gone/s"}, command("true")...)}, []string{
			`omnijailctl: cannot reach omnijaild at /run/omnijail/omnijaild.sock: it is not running`,
			`hint: leave --socket away, or start omnijaild with --socket and the same path`,
		}},
		{"2 not in the group", Ctl{UID: Outsider, Env: []string{"OMNIJAIL_SOCKET="}, Args: append([]string{"--socket", n.Socket}, command("true")...)}, []string{
			fmt.Sprintf(`omnijailctl: you may not use omnijaild: its socket is for group "%d" and you are not in it`, socketGID),
			fmt.Sprintf(`hint: sudo usermod -aG %d $USER, then log in again (in this shell: newgrp %[1]d)`, socketGID),
		}},
		{"3 nobody logged in", Ctl{UID: Alice, Args: quiet("gh", "api", "user")}, []string{
			`omnijailctl: gh found no GitHub login: policy "default" takes it from GH_TOKEN or "gh auth token", and neither gave one`,
			`hint: gh auth login (outside the jail; the token stays outside)`,
		}},
		{"5 a request denied", Ctl{UID: Alice, Env: token, Args: quiet("curl", "-XPOST", "https://api.github.com/user/repos")}, []string{
			`omnijailctl: denied POST api.github.com/user/repos: no rule allows it (nearest: "GET,HEAD api.github.com/**", /etc/omnijail/policies/default.yaml:4)`,
			`hint: omnijailctl exec --allow 'POST api.github.com/user/repos' -- … id 7f3a`,
		}},
		{"6 a policy not trusted", Ctl{UID: Alice, Dir: untrusted, Args: command("true")}, []string{
			`omnijailctl: ./.omnijail.yaml is new: it would write to ".", reach 2 hosts, run "gh auth token" outside the jail`,
			`hint: read it, then: omnijailctl policy trust .omnijail.yaml`,
		}},
		{"7 something was hidden", Ctl{UID: Alice, Dir: dotted, Env: token, Args: command("false")}, []string{
			`omnijailctl: hidden in this directory: .env .foo .npmrc`,
			`hint: if the command needs one: cwd_allow_hidden: [.foo]`,
		}},
		{"7 something was masked", Ctl{UID: Alice, Dir: dotted, Args: []string{"exec", "--policy", "masking", "--", "false"}}, []string{
			`omnijailctl: hidden in this directory: .env .foo .npmrc`,
			`hint: if the command needs one: cwd_allow_hidden: [.foo]`,
			`omnijailctl: masked in this directory: src/x`,
			`hint: if the command needs one: a policy without it in mask_paths`,
		}},
		{"9 ssh", Ctl{UID: Alice, Env: token, Args: quiet("ssh", "-T", "git@github.com")}, []string{
			`omnijailctl: ssh to github.com:22 is not carried; this jail rewrites git@github.com: to https`,
			`hint: omnijailctl why 7f3a`,
		}},
		{"9 ssh elsewhere", Ctl{UID: Alice, Env: token, Args: quiet("ssh", "-T", "git@other.test")}, []string{
			`omnijailctl: ssh to other.test:22 is not carried`,
			`hint: git remote set-url origin https://other.test/OWNER/REPO`,
		}},
		{"10 a source failed", Ctl{UID: Alice, Env: []string{"PATH=" + bin + ":/usr/bin:/bin"},
			Args: []string{"exec", "--policy", "op", "--", "true"}}, []string{
			`omnijailctl: credential "github": "op read op://x" failed for you (exit 1)`,
			`hint: omnijailctl why 7f3a`,
		}},
		{"11 a private address", Ctl{UID: Alice, Env: token, Args: quiet("curl", "https://ghe.example.com/")}, []string{
			`omnijailctl: ghe.example.com is 10.20.1.5, a private address`,
			`hint: the operator can allow it once: egress.private in /etc/omnijail/omnijaild.yaml; or here: allow_private: [10.20.0.0/16]`,
		}},
		{"15 root", Ctl{UID: 0, Args: command("true")}, []string{
			`omnijailctl: root must say as whom: a jail never runs as root`,
			`hint: omnijailctl exec --user alice -- …`,
		}},
	})
	t.Run("10 on a terminal", func(t *testing.T) {
		s := n.screenOf(t, Ctl{UID: Alice, Env: []string{"PATH=" + bin + ":/usr/bin:/bin"},
			Args: []string{"exec", "--policy", "op", "--", "curl", "-sS", "https://api.example.test/user"}})
		s.expect(`hint: not signed in\u{1b}[31m`)
		s.exit(125)
	})
	t.Run("10 explained", func(t *testing.T) {
		o := n.Run(t, Ctl{UID: Alice, Env: []string{"PATH=" + bin + ":/usr/bin:/bin"}, Args: []string{"exec", "--policy", "op", "--", "true"}})
		id := ids.FindString(o.Stderr)
		why := n.Run(t, Ctl{UID: Alice, Args: strings.Fields(id)}).Want(t, 0)
		for _, line := range []string{`because  credential "github": "op read op://x" failed for you (exit 1)`, `it said  not signed in\u{1b}[31m`} {
			if !strings.Contains(why.Stdout, line+"\n") {
				t.Errorf("%s says\n%s\nwithout %s", id, why.Stdout, line)
			}
		}
	})
	t.Run("8 a snap", func(t *testing.T) {
		if err := os.Mkdir("/snap", 0o755); err != nil {
			t.Skip("this node has snaps of its own")
		}
		t.Cleanup(func() { os.RemoveAll("/snap") })
		if err := os.MkdirAll("/snap/bin", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("/snap/bin/gh", nil, 0o755); err != nil {
			t.Fatal(err)
		}
		check(t, n, []text{{"gh", Ctl{UID: Alice, Env: append(token, "PATH=/snap/bin:/usr/bin"), Args: command("gh", "api", "user")}, []string{
			`omnijailctl: /snap/bin/gh is a snap; snaps cannot run without privileges and so not in a jail`,
			`hint: sudo apt install gh`,
		}}})
	})
}

func TestTextsOfANodeWithoutAPolicy(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	check(t, n, []text{
		{"4 offline", Ctl{UID: Alice, Args: quiet("curl", "https://api.github.com/user")}, []string{
			`omnijailctl: no network: no policy was given, so this ran with preset "offline"`,
			`hint: omnijailctl exec --preset github-read -- … or: omnijailctl init`,
		}},
		{"offline on purpose", Ctl{UID: Alice, Args: []string{"exec", "--policy", "offline", "--", "curl", "-s", "https://api.github.com/user"}}, []string{
			`omnijailctl: no network: policy "offline" has no egress_rules`,
			`hint: omnijailctl exec --allow 'GET,HEAD api.github.com/**' -- … id 7f3a`,
		}},
		{"3 with a preset", Ctl{UID: Alice, Args: []string{"exec", "--preset", "github-read", "--", "sh", "-c", "gh api user 2>/dev/null"}}, []string{
			`omnijailctl: gh found no GitHub login: preset "github-read" takes it from GH_TOKEN or "gh auth token", and neither gave one`,
			`hint: gh auth login (outside the jail; the token stays outside)`,
		}},
	})
}
