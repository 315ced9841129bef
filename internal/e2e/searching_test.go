package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forms are the ways in which a secret stands in headers, logs and dumps: raw,
// hexadecimal, reversed, and in Base64 at each alignment, as a password too.
func forms(secret string) map[string]string {
	reversed := []byte(secret)
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	all := map[string]string{
		"raw": secret, "hex": hex.EncodeToString([]byte(secret)), "upper hex": strings.ToUpper(hex.EncodeToString([]byte(secret))), "reversed": string(reversed),
	}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte("xy"[:shift] + secret))
		inner := text[4 : len(text)-4] // what stands whatever is around
		all[fmt.Sprintf("base64 at %d", shift)] = inner
		all[fmt.Sprintf("url base64 at %d", shift)] = strings.NewReplacer("+", "-", "/", "_").Replace(inner)
	}
	return all
}

// found names the forms of a secret that are in b.
func found(b []byte, secret string) (names []string) {
	for name, form := range forms(secret) {
		if bytes.Contains(b, []byte(form)) {
			names = append(names, name)
		}
	}
	return names
}

// memory is what a process has mapped and can be read.
func memory(t testing.TB, pid int) []byte {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var all []byte
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var rights, rest string
		if _, err := fmt.Sscanf(line, "%x-%x %s %s", &from, &to, &rights, &rest); err != nil || rights[0] != 'r' || strings.Contains(line, "[v") {
			continue
		}
		for ; from < to; from += 1 << 20 { // a large reservation is mostly holes
			b := make([]byte, min(1<<20, to-from))
			n, _ := mem.ReadAt(b, from)
			all = append(all, bytes.TrimRight(b[:n], "\x00")...)
		}
	}
	return all
}

// egressOf are the processes of the egress user below the daemon.
func egressOf(t testing.TB, n *Node) (pids []int) {
	t.Helper()
	for _, pid := range descendants(t, n.PID()) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && strings.Contains(string(b), fmt.Sprintf("\nUid:\t%d\t", egressUID)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// searchFiles looks for secrets in the contents and names of all files below dir.
func searchFiles(t testing.TB, dir string, secrets ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		files++
		for _, s := range secrets {
			if names := found(append(b, p...), s); names != nil {
				t.Errorf("%s holds %q: %v", p, s, names)
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files searched below %s, %v", files, dir, err)
	}
}

// searchProcesses looks for secrets in the arguments and environment of every
// process of the machine but the user's own client and this one.
func searchProcesses(t testing.TB, secrets ...string) {
	t.Helper()
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		exe, _ := os.Readlink(p + "/exe")
		if filepath.Base(exe) == "omnijailctl" || p == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		cmdline, _ := os.ReadFile(p + "/cmdline")
		environ, _ := os.ReadFile(p + "/environ")
		for _, s := range secrets {
			if names := found(append(cmdline, environ...), s); names != nil {
				t.Errorf("%s (%s) holds %q: %v; %q", p, exe, s, names, cmdline)
			}
		}
	}
}
