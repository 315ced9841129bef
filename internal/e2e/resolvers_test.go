package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// nodeResolve looks the name up with c-ares, nodeLookup as node's clients do.
const (
	nodeResolve = `node -e 'const d = require("dns").promises; (async () => {
for (const [f, look] of [["4", "resolve4"], ["6", "resolve6"]]) {
  const [a] = await d[look]("example.test"); console.log(f, a); console.log("ptr" + f, (await d.reverse(a))[0]); }
console.log("evil", await d.resolve4("evil.test").catch(e => e.code == "ENOTFOUND" ? "none" : e.code)); })()'`
	nodeLookup = `node -e 'const d = require("dns").promises; (async () => {
for (const family of [4, 6]) {
  const a = (await d.lookup("example.test", {family, hints: require("dns").ADDRCONFIG})).address; console.log(family, a); console.log("ptr" + family, (await d.lookupService(a, 443)).hostname); }
console.log("evil", await d.lookup("evil.test").catch(e => e.code == "ENOTFOUND" ? "none" : e.code)); })()'`
	pythonLookup = `/usr/bin/python3 -c '
import socket as s
for f, family in (("4", s.AF_INET), ("6", s.AF_INET6)):
    a = s.getaddrinfo("example.test", 443, family, s.SOCK_STREAM, 0, s.AI_ADDRCONFIG)[0][4][0]
    print(f, a); print("ptr" + f, s.getnameinfo((a, 443), s.NI_NAMEREQD)[0])
try: print("evil", s.getaddrinfo("evil.test", 443))
except s.gaierror as e: print("evil", "none" if e.errno == s.EAI_NONAME else e)'`
)

const bothFamilies = "4 V4\nptr4 example.test\n6 V6\nptr6 example.test\nevil none\n"

// resolvers are the ones that programs bring, and what each finds of a name that a
// rule allows and of one that none does. A tool that is missing fails its test.
var resolvers = []struct{ name, script, want string }{
	{"glibc", `./glibc example.test`, bothFamilies},
	{"glibc over TCP", `RES_OPTIONS=use-vc ./glibc example.test`, bothFamilies},
	{"glibc with EDNS", `RES_OPTIONS='edns0 trust-ad' ./glibc example.test`, bothFamilies},
	{"glibc, one question at a time", `RES_OPTIONS='single-request-reopen ndots:3' ./glibc example.test`, bothFamilies},
	{"musl", `./musl example.test`, bothFamilies},
	{"Go", `./go udp example.test`, strings.ReplaceAll(bothFamilies, "example.test\n", "example.test.\n")},
	{"Go over TCP", `./go tcp example.test`, strings.ReplaceAll(bothFamilies, "example.test\n", "example.test.\n")},
	{"c-ares", nodeResolve, bothFamilies},
	{"node", nodeLookup, bothFamilies},
	{"python", pythonLookup, bothFamilies},
	{"java", `java -cp . Resolve example.test`, bothFamilies},
	{"java, IPv4 alone", `java -Djava.net.preferIPv4Stack=true -cp . Resolve example.test`, "4 V4\nptr4 example.test\nevil none\n"},
	{"java, IPv6 first", `java -Djava.net.preferIPv6Addresses=true -cp . Resolve example.test`, "6 V6\nptr6 example.test\n4 V4\nptr4 example.test\nevil none\n"},
	{"getent", `for m in ahostsv4 ahostsv6; do getent $m example.test | head -n 1 | cut -d ' ' -f 1; done; getent ahosts evil.test || echo none`, "V4\nV6\nnone\n"},

	{"dig", dig(`+short example.test A; q +short example.test AAAA; q +short -x $(q +short example.test)`), "V4\nV6\nexample.test.\n"},
	{"dig over TCP", dig(`+tcp +short example.test A; q +tcp +short example.test AAAA`), "V4\nV6\n"},
	{"dig without EDNS", dig(`+noedns +short example.test A; q +noedns example.test | grep -c OPT; true`), "V4\n0\n"},
	{"dig with a small buffer", dig(`+bufsize=512 +short example.test A; q +dnssec +short example.test A`), "V4\nV4\n"},
	{"dig, a version to come", dig(`+edns=1 +noednsnegotiation example.test | grep -o BADVERS`), "BADVERS\n"},
	{"dig, a name without a rule", dig(`evil.test | grep -o 'status: [A-Z]*'; q +tcp evil.test AAAA | grep -o 'status: [A-Z]*'`), "status: NXDOMAIN\nstatus: NXDOMAIN\n"},
	{"dig, other types", dig(`example.test HTTPS | grep -oE 'status: [A-Z]*|ANSWER: [0-9]*'; q example.test TXT | grep -oE 'status: [A-Z]*|ANSWER: [0-9]*'`), "status: NOERROR\nANSWER: 0\nstatus: NOERROR\nANSWER: 0\n"},
	{"dig, an address of nobody's", dig(`-x 192.0.2.1 | grep -o 'status: [A-Z]*'`), "status: NXDOMAIN\n"},
	{"dig at another server", dig(`@9.9.9.9 +short example.test; q @2620:fe::fe +short example.test`), "V4\nV4\n"},

	{"wget over IPv4", `wget -4 -qO /dev/null 'https://example.test/status?code=200' && echo fine`, "fine\n"},
	{"wget over IPv6", `wget -6 -qO /dev/null 'https://example.test/status?code=200' && echo fine`, "fine\n"},
	{"git over IPv4", `git ls-remote -4 https://example.test/a/b.git 2>&1 | grep -c 'not resolve'; true`, "0\n"},
}

// dig asks once, with a bound that only a question without an answer reaches.
func dig(rest string) string { return "q() { dig +tries=1 +time=20 \"$@\"; }; q " + rest }

var (
	synthetic4 = regexp.MustCompile(`\b198\.1[89]\.\d+\.\d+\b`)
	synthetic6 = regexp.MustCompile(`\bfd6f:6d6e:696a:[0-9a-f:]+`)
)

func TestResolvers(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"default": "caller: [cwd, tty, timeout]\negress_rules: [\"GET example.test/**\"]\n"}})
	ws := n.Workspace(t, Alice, nil)
	for _, build := range [][]string{
		{"gcc", "-o", ws + "/glibc", "resolve.c"}, {"musl-gcc", "-static", "-o", ws + "/musl", "resolve.c"},
		{"go", "build", "-o", ws + "/go", "resolve.go"}, {"javac", "-d", ws, "Resolve.java"},
	} {
		cmd := exec.Command(build[0], build[1:]...)
		cmd.Dir = "testdata/resolve"
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
	}
	if err := os.Chmod(filepath.Join(ws, "Resolve.class"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range resolvers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := n.Run(t, Ctl{UID: Alice, Dir: ws, Args: []string{"exec", "--", "bash", "-c", c.script}})
			got := synthetic6.ReplaceAllString(synthetic4.ReplaceAllString(o.Stdout, "V4"), "V6")
			if got != c.want {
				t.Errorf("%q, want %q\nexit %d\n%s", got, c.want, o.Exit, o.Stderr)
			}
		})
	}
}
