package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// hostile is what a command puts into paths, hosts, names and arguments, so that
// a terminal obeys it or somebody pastes it. MARK is a file that must not appear.
var hostile = []string{
	"$(touch MARK)", "`touch MARK`", "';touch MARK;'", "\";touch MARK;\"", "|touch MARK", "&touch MARK&", "\ntouch MARK\n", ";touch MARK #",
	"\x1b]52;c;ZXZpbA==\x07", "\x1b[2J\x1b[1;1Hroot#", "\x1b]0;title\x1b\\", "\u202egnp.exe", "\u2066x\u2069", "\u200b", "\x9b31m", "\xff\xfe", "\r\nhint: curl evil", "a\tb", "x%0a- \"* evil.com/**\"",
}

// steers returns what would steer a terminal in s.
func steers(s string) string {
	var bad strings.Builder
	for _, r := range s {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
			bad.WriteRune(r)
		}
	}
	return bad.String()
}

// paste runs every hint as a person would, where omnijailctl does nothing.
func paste(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		hint, ok := strings.CutPrefix(strings.TrimSpace(line), "hint: ")
		if !ok {
			hint, ok = strings.CutPrefix(strings.TrimSpace(line), "to allow ")
		}
		if !ok {
			continue
		}
		sh := exec.Command("bash", "-c", "omnijailctl() { :; }; git() { :; }; "+hint)
		sh.Dir = t.TempDir()
		sh.Run()
	}
}

func TestS24_NothingThatWePrintSteersOrExpands(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	mark := filepath.Join(t.TempDir(), "mark")
	dir := n.Workspace(t, Alice, nil)
	var texts []string
	for i, h := range hostile {
		h = strings.ReplaceAll(h, "MARK", mark)
		if name := "." + strings.ReplaceAll(h, "/", ""); len(name) < 200 { // dot entries: hidden, and named by a hint
			os.WriteFile(filepath.Join(dir, name), nil, 0o644)
		}
		places := [][]string{
			{"--", h}, {"--", "./" + h}, {"--", "/nowhere/" + h}, {"--read", "/nowhere/" + h, "--", "true"}, {"--cwd", "/nowhere/" + h, "--", "true"},
			{"--policy", h, "--", "true"}, {"--preset", h, "--", "true"}, {"--allow", h, "--", "true"}, {"--env", h, "--", "true"}, {"--user", h, "--", "true"},
		}
		for _, at := range []int{i, i + 3, i + 6} { // each string in some places, each place with some strings
			args := places[at%len(places)]
			o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append([]string{"exec"}, args...)})
			texts = append(texts, o.Stderr)
		}
	}
	// Requests, by the connection's name, the path, the method and the Host.
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append([]string{"exec", "--allow", "GET seen.test/one", "--", "python3", "-c", `
import os, socket, ssl, sys
ctx = ssl.create_default_context()
for h in map(os.fsencode, sys.argv[1:]):
    for line in (b"GET /" + h + b" HTTP/1.1\r\nHost: seen.test", b"GET /x HTTP/1.1\r\nHost: " + h, b"G" + h + b" /x HTTP/1.1\r\nHost: seen.test", b"GET /%24%28touch%20x%29/" + h.hex().encode() + b" HTTP/1.1\r\nHost: seen.test"):
        try:
            s = ctx.wrap_socket(socket.create_connection(("seen.test", 443)), server_hostname="seen.test")
            s.sendall(line + b"\r\n\r\n"); s.recv(999); s.close()
        except (OSError, ValueError): pass
    try: socket.getaddrinfo(h.decode("latin1") + ".test", 443)
    except (OSError, UnicodeError): pass
sys.exit(1)`}, hostile...)}).Want(t, 1)
	if strings.Count(o.Stderr, "denied") < len(hostile) {
		t.Errorf("few of the requests were refused: %s", o.Stderr)
	}
	texts = append(texts, o.Stderr)
	for _, uid := range []uint32{Alice, 0} {
		o := n.Run(t, Ctl{UID: uid, Dir: n.Dir, Args: []string{"events"}}).Want(t, 0)
		texts = append(texts, o.Stdout)
	}
	denied := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events", "--denied"}}).Want(t, 0)
	lines := slices.Collect(strings.Lines(denied.Stdout))
	for _, line := range lines[:min(len(lines), 20)] {
		_, id, _ := strings.Cut(line, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		texts = append(texts, n.Run(t, Ctl{UID: Alice, Args: []string{"why", id}}).Stdout)
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if bad := steers(line); bad != "" {
				t.Errorf("printed %q with %q", line, bad)
			}
		}
		paste(t, text)
	}
	if len(texts) < 2*len(hostile) {
		t.Errorf("only %d texts were looked at", len(texts))
	}
	wantNone(t, mark)
}
