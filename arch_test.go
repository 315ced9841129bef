package omnijail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/arch"
)

// The import table: arrows run down. A folder that is not here may import
// nothing of ours; see docs/design.md for what each holds.
var table = arch.Rules{
	Imports: map[string][]string{
		"api":              {"internal/peercred"},
		"creds":            {"internal/egress"},
		"internal/egress":  {},
		"internal/jail":    {"internal/egress", "creds", "internal/child"},
		"internal/audit":   {},
		"internal/config":  {"internal/egress", "internal/guard", "internal/jail"},
		"internal/policy":  {"internal/jail", "internal/node", "internal/egress", "creds"},
		"internal/node":    {"internal/jail", "internal/landlock", "internal/cgroup"},
		"internal/seccomp": {"internal/sealed"},
		"internal/observe": {"internal/child", "internal/reach", "internal/seqpacket", "internal/seccomp"},
		"internal/suggest": {"internal/audit", "internal/egress", "internal/policy"},

		"runtime/oci":        {"internal/jail"},
		"runtime/bwrap":      {"internal/sealed", "internal/jail", "internal/node", "internal/stage", "internal/seccomp", "runtime/oci"},
		"runtime/none":       {"internal/jail", "internal/node", "internal/child"},
		"runtime/landlock":   {"internal/jail", "internal/node", "internal/child", "internal/landlock", "internal/reaper", "internal/seccomp", "runtime/oci"},
		"internal/child":     {},
		"internal/seqpacket": {},
		"internal/caller":    {"internal/jail", "internal/peercred", "creds", "internal/child", "internal/seqpacket"},
		"internal/stage":     {"internal/jail", "internal/child"},
		"internal/trust":     {"internal/jail"},
		"internal/spawn":     {"internal/jail", "internal/child", "internal/ownthread"},
		"internal/idle":      {},
		"internal/pty":       {},
		"internal/caches":    {},
		"internal/initrun":   {"internal/child", "internal/seccomp", "internal/landlock"},
		"internal/reaper":    {"internal/seccomp"},
		"internal/scout":     {"internal/child", "internal/observe", "internal/reach", "internal/seccomp", "internal/seqpacket"},
		"internal/confine":   {"internal/child", "internal/landlock"},
		"internal/landlock":  {"internal/child"},

		"netns":         {"netns/bpf", "netns/addrplan", "internal/ownthread"},
		"netns/dnsstub": {"internal/egress", "netns/addrplan"},
		"netns/observe": {},
		"mitm":          {"creds", "internal/egress", "internal/audit", "internal/fair", "internal/guard", "mitm/explicit"},
		"internal/fair": {},
		"mitm/explicit": {},

		"internal/guard": {},
		"internal/fence": {"internal/guard", "netns/bpf"},

		"internal/egressd":      {"mitm", "creds", "internal/egress", "netns/dnsstub", "netns/observe", "internal/audit", "internal/egressd/wire", "internal/fair", "internal/idle", "internal/seccomp"},
		"internal/egressd/wire": {"creds", "internal/egress", "internal/audit", "internal/sealed"},
		"internal/sealed":       {},
		"internal/mountwatch":   {},

		"internal/daemon": {
			"api", "creds", "internal/egress", "internal/jail", "internal/policy", "internal/node", "internal/config",
			"internal/caller", "internal/stage", "internal/trust", "internal/seccomp", "internal/cgroup", "internal/pty",
			"internal/spawn", "internal/peercred", "internal/cleanup", "internal/audit", "netns", "internal/egressd/wire",
			"internal/egressd/cage", "internal/child", "internal/seqpacket", "internal/mountwatch", "internal/caches", "internal/fence", "internal/guard", "internal/idle", "internal/sealed",
		},
		"internal/server": {"api", "internal/daemon", "internal/policy", "internal/peercred", "internal/config", "internal/audit", "internal/egress", "internal/jail", "internal/suggest"},

		"internal/lab":                   {"internal/lab"},
		"internal/cgroup/cgrouptest":     {"internal/cgroup"},
		"internal/peercred/peercredtest": {"internal/peercred"},
		"internal/scout/scouttest":       {"internal/scout"},
		"internal/selftest":              {"internal/jail", "api"},
		"internal/arch":                  {},
		"internal/lowering":              {},
		"internal/e2e":                   {"api", "internal/lab", "internal/landlock"},
		"examples/demo":                  {"internal/lab", "api", "internal/cleanup"},
		"cmd/omnijaild": {"api", "internal/config", "internal/daemon", "internal/server", "internal/egressd", "internal/node", "internal/policy", "internal/audit", "internal/caches", "internal/cgroup", "internal/cleanup", "internal/fence",
			"internal/jail", "internal/peercred", "internal/spawn", "netns", "runtime/bwrap", "runtime/landlock", "runtime/none", "internal/landlock"},
		"cmd/omnijail-init": {"internal/scout", "internal/confine", "internal/initrun", "internal/reaper"},
		"cmd/omnijailctl":   {"internal/sealed", "api", "internal/jail", "internal/policy", "internal/egress", "creds", "internal/audit", "internal/selftest"},
	},
	Sole: map[string][]string{
		"github.com/elazarl/goproxy":             {"mitm/explicit"},
		"github.com/andybalholm/brotli":          {"mitm"},
		"github.com/klauspost/compress":          {"mitm"},
		"github.com/gopacket/gopacket":           {"netns/observe"},
		"github.com/landlock-lsm/go-landlock":    {"internal/landlock"},
		"github.com/seccomp/libseccomp-golang":   {"internal/seccomp/gen"},
		"github.com/cilium/ebpf":                 {"netns/bpf"},
		"unix.Setns":                             {"netns", "internal/spawn", "internal/confine"},
		"unix.Unshare":                           {"netns", "internal/spawn", "internal/confine", "internal/reaper"},
		"http.Client":                            {"internal/lab/...", "examples/demo"},
		"http.Transport":                         {"mitm", "internal/lab/..."},
		"http.DefaultClient":                     {},
		"http.DefaultTransport":                  {},
		"github.com/spf13/cobra":                 {"cmd/omnijailctl"},
		"go.yaml.in/yaml/v4":                     {"internal/policy", "internal/config"},
		"github.com/prometheus/client_golang":    {"internal/daemon", "cmd/omnijaild"},
		"github.com/bmatcuk/doublestar/v4":       {"internal/egress"},
		"github.com/vishvananda/netlink":         {"netns"},
		"github.com/opencontainers/runtime-spec": {"internal/jail", "internal/policy", "runtime/...", "internal/daemon"},
	},
	// What goproxy would do besides opening tunnels, and its CA, whose key everyone has.
	Never: []string{
		"GoproxyCa", "CA_CERT", "CA_KEY", "TLSConfigFromCA", "OkConnect", "MitmConnect", "HTTPMitmConnect", "ConnectAccept",
		"ConnectMitm", "ConnectHTTPMitm", "AlwaysMitm", "AllowHTTP2",
	},
}

func TestTheHouseKeepsItsShape(t *testing.T) {
	found, err := table.Check(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// A check that cannot fail checks nothing: plant one violation of each kind.
func TestTheShapeCheckSeesAPlantedViolation(t *testing.T) {
	root := t.TempDir()
	plant := func(name, src string) {
		t.Helper()
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plant("creds/a.go", "package creds\nimport _ \"github.com/omnijail/omnijail/mitm\"\n")
	plant("mitm/b.go", "package mitm\nimport _ \"github.com/cilium/ebpf/asm\"\n")
	plant("internal/daemon/c.go", "package daemon\nimport \"golang.org/x/sys/unix\"\nvar _ = unix.Setns\n")
	plant("mitm/explicit/d.go", "package explicit\nfunc f(p *T) { p.AllowHTTP2 = true }\n")
	plant("internal/egress/fine.go", "package egress\nimport _ \"net/netip\"\n")

	found, err := table.Check(root)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(found, "\n")
	for _, want := range []string{
		"creds/a.go imports mitm",
		"mitm/b.go imports github.com/cilium/ebpf/asm, which is for netns/bpf alone",
		"mitm/explicit/d.go uses AllowHTTP2, which nothing may",
		"internal/daemon/c.go uses unix.Setns, which is for netns, internal/spawn, internal/confine alone",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not found: %s\nin:\n%s", want, got)
		}
	}
	if len(found) != 4 {
		t.Errorf("want 4 violations, got:\n%s", got)
	}
}
