package config

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func load(t *testing.T, text string) (Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "omnijaild.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(file))
	return Load("omnijaild.yaml", true) // a relative name keeps the messages short, and must work
}

func TestWhatAFileMayNotSay(t *testing.T) {
	const at = "omnijaild.yaml: "
	for text, want := range map[string]string{
		"sockets: /x\nmetrics: {listen: x}":           "line 1: unknown key sockets\nline 2: unknown key listen",
		"socket: /x\nsocket: /y":                      `line 2: mapping key "socket" already defined at line 1`,
		"socket: /x\n---\nsocket: /y":                 "yaml: expected single document, found multiple",
		"socket: [a]":                                 "line 1: cannot construct !!seq into string",
		"access:\n":                                   "access: is empty: list who may do what, or leave the key out for the default",
		"access: [{users: alice}]":                    "line 1: cannot construct !!str `alice` into []string",
		"access: [{policy: [own]}]":                   "line 1: unknown key policy",
		"access: [{weaken: [nope]}]":                  `access[0].weaken: unknown weakening "nope"`,
		"access: [{sources: [vault]}]":                `access[0].sources: unknown source kind "vault"`,
		"access: [{jails: -1}]":                       "access[0].jails: must not be negative",
		"access: [{confined: true, policies: [own]}]": "access[0].policies: a confined caller gets root-owned policies by name, never its own and never all",
		`access: [{confined: true, policies: ["*"]}]`: "access[0].policies: a confined caller gets root-owned policies by name, never its own and never all",
		"audit: {full: allow}":                        `audit.full: "allow": only deny is offered`,
		"audit: {rotate: -5}":                         `line 1: "-5" is not a size`,
		"drain: 5":                                    `line 1: "5" is not a duration such as 90s or 720h`,
		"drain: -5s":                                  `line 1: "-5s" is not a duration such as 90s or 720h`,
		"limits: {memory: 512}":                       "limits.memory: must be at least 16 MiB",
		"ready_jails: 65":                             "ready_jails: 65 is not between 0 and 64",
		"interception: tproxy":                        `interception: "tproxy": there are auto, sk_lookup and ports`,
		"limits: {pids: -1}":                          "limits.pids: must not be negative",
		"backend: seatbelt":                           `backend: "seatbelt" is not in this build`,
		`group: ""`:                                   "group, egress_user: must not be empty",
		"group: x\negress_user: x":                    `egress_user: "x" is also the socket's group, so an egress process could command the daemon`,
		"socket: s\nrun_dir: ''":                      "run_dir: \"\" must be an absolute path\n" + `socket: "s" must be an absolute path`,
		"upstream: {hosts: {a.example: 1.2.3.4}}":     `line 1: "1.2.3.4" is not IP:PORT`,
		`upstream: {hosts: {a.example: "1.2.3.4:0"}}`: `line 1: "1.2.3.4:0" is not IP:PORT`,
		`upstream: {hosts: {a.example: {address: "1.2.3.4:1", user: x}}}`: "line 1: unknown key user",
		`upstream: {hosts: {"*.example": "1.2.3.4:443"}}`:                 `upstream.hosts: authority: host "*.example"`,
		"upstream: {proxy: x, dns: y, ca_files: [z]}": `upstream.ca_files: "z" must be an absolute path` + "\n" +
			`upstream.dns: "y" is not IP:PORT` + "\n" + `upstream.proxy: "x" is not IP:PORT`,
		"upstream: {proxy_login: /etc/x}":                    `upstream.proxy_login: "/etc/x" must be an absolute path, beside upstream.proxy`,
		`upstream: {proxy: "10.0.0.1:3128", proxy_login: x}`: `upstream.proxy_login: "x" must be an absolute path, beside upstream.proxy`,
		`upstream: {dns: "10.0.0.1:0"}`:                      `upstream.dns: "10.0.0.1:0" is not IP:PORT`,
		`egress: {private: [{host: "*", cidr: 10.0.0.0/8}]}`: `egress.private[0].host: "*" is neither a name nor *.name`,
		"egress: {private: [{cidr: 10.0.0.0/8}]}":            `egress.private[0].host: "" is neither a name nor *.name`,
		"egress: {private: [{host: a.example}]}":             "egress.private[0].cidr: is missing",
		"egress: {private: [{host: a.example, cidr: 10}]}":   "line 1: ",
	} {
		_, err := load(t, text)
		if err == nil {
			t.Errorf("%q is accepted", text)
		} else if got := err.Error(); len(got) < len(at+want) || got[:len(at+want)] != at+want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestWhatIsNotSaidIsTheDefault(t *testing.T) {
	want := Default()
	if err := want.Check(); err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile("../../packaging/etc/omnijaild.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "blank": "\n\n", "comments": " # one\n#two\n", "null": "null\n", "the shipped file": string(shipped)} {
		if got, err := load(t, text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := Load("/nowhere/omnijaild.yaml", false); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("no file: %+v, %v", got, err)
	}
	if _, err := Load("/nowhere/omnijaild.yaml", true); !os.IsNotExist(err) {
		t.Errorf("a file that was named and is not there: %v", err)
	}
}

func TestWhatIsSaidHolds(t *testing.T) {
	c, err := load(t, "group: 2100\nstate_dir: /s\nrun_dir: /r\ndrain: 90s\naudit: {max: 2GiB, retain: 0}\nlimits: {memory: 1g, cpu: 0.5, timeout: 1h}\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Access) != 1 || c.Access[0].Groups[0] != "2100" || c.Access[0].Jails != defaultJails {
		t.Errorf("the socket's group is not who has access: %+v", c.Access)
	}
	if c.Audit.File != "/s/audit.jsonl" || c.Metrics.Socket != "/r/metrics.sock" || c.Audit.Max != 2<<30 || c.Audit.Retain != 0 || c.Audit.Rotate != 100<<20 {
		t.Errorf("audit %+v, metrics %+v", c.Audit, c.Metrics)
	}
	if time.Duration(c.Drain) != 90*time.Second || c.Limits.Jail().Memory != 1<<30 || c.Limits.Jail().CPU != 500 || c.Limits.Jail().Timeout != time.Hour {
		t.Errorf("drain %v, limits %+v", c.Drain, c.Limits.Jail())
	}
	if c, err := load(t, "access: []"); err != nil || len(c.Access) != 0 {
		t.Errorf("nobody but root: %+v, %v", c.Access, err)
	}
}
