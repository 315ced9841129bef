package caller

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/jail"
)

// resolved is what ResolveSource answered and wrote.
type resolved struct {
	jail.SourceReply
	value, stderr string
}

func resolve(t *testing.T, dir string, env []string, sources ...creds.Source) resolved {
	t.Helper()
	valueR, valueW := pipe(t)
	errR, errW := pipe(t)
	writable, err := os.Open(dir + "/w")
	if err != nil {
		t.Fatal(err)
	}
	defer writable.Close()
	reply, err := ResolveSource(context.Background(), SourceOptions{
		Child: newChild(t), User: user(dir), Value: valueW, Stderr: errW, Writable: []*os.File{writable},
		Request: jail.SourceRequest{Sources: sources, Home: dir + "/home", Env: env},
	})
	if err != nil {
		t.Fatal(err)
	}
	valueW.Close()
	errW.Close()
	return resolved{reply, slurp(t, valueR), slurp(t, errR)}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func slurp(t *testing.T, r *os.File) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func file(p string) creds.Source          { return creds.Source{Kind: creds.SourceFile, File: p} }
func command(argv ...string) creds.Source { return creds.Source{Kind: creds.SourceCommand, Argv: argv} }

var somePath = []string{"PATH=/usr/bin:/bin"}

func TestA83_AFileSourceIsReadAsTheCaller(t *testing.T) {
	dir := playground(t)
	write(t, dir, "home/token", 0o600, "s3cret\n")
	write(t, dir, "home/open", 0o644, "s3cret\n")
	write(t, dir, "home/empty", 0o600, "\n")
	write(t, dir, "home/large", 0o600, strings.Repeat("x", 64<<10+1))
	roots := write(t, dir, "home/roots", 0o600, "x")
	if err := os.Chown(roots, 0, 0); err != nil {
		t.Fatal(err)
	}
	symlink(t, "home/token", dir+"/link")
	if err := errors.Join(unix.Mkfifo(dir+"/home/fifo", 0o600), os.Chown(dir+"/home/fifo", 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		source      creds.Source
		value       string
		reason, fix string
	}{
		"home":       {file("~/token"), "s3cret\n", "", ""},
		"by a link":  {file(dir + "/link"), "s3cret\n", "", ""},
		"absent":     {file("~/absent"), "", "does not exist", ""},
		"open":       {file("~/open"), "", "can be read by others (mode 0644)", "chmod 600 " + dir + "/home/open"},
		"empty":      {file("~/empty"), "", "gave nothing", ""},
		"large":      {file("~/large"), "", "larger than 65536 bytes", ""},
		"root's":     {file("~/roots"), "", "permission denied", ""},
		"directory":  {file("~"), "", "not an absolute path", ""},
		"a tree":     {file(dir + "/home"), "", "not a regular file", ""},
		"a FIFO":     {file("~/fifo"), "", "not a regular file", ""},
		"a device":   {file("/dev/zero"), "", "not a regular file", ""},
		"a process":  {file("/proc/self/environ"), "", "", ""},
		"magic link": {file("/proc/self/fd/0"), "", "too many levels of symbolic links", ""},
	} {
		got := resolve(t, dir, nil, tt.source)
		if got.value != tt.value || got.OK != (tt.value != "") || !strings.Contains(got.Reason, tt.reason) || got.Fix != tt.fix {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestTheFirstSourceWithAValueIsUsed(t *testing.T) {
	dir := playground(t)
	write(t, dir, "home/token", 0o600, "from the file")
	write(t, dir, "home/open", 0o644, "x")
	got := resolve(t, dir, somePath, file("~/absent"), command("false"), command("absent-program"), file("~/token"))
	if !got.OK || got.Index != 3 || got.value != "from the file" {
		t.Errorf("got %+v", got)
	}
	// A refusal is not "no value": the rest is not asked.
	if got := resolve(t, dir, somePath, file("~/open"), file("~/token")); got.OK || got.Index != 0 || got.value != "" {
		t.Errorf("after a refusal: %+v", got)
	}
}

func TestA82_ACommandSourceRunsAsTheCallerAndCleanly(t *testing.T) {
	dir := playground(t)
	env := append(somePath, "HOME="+dir+"/home", "GH_CONFIG_DIR=/x")
	got := resolve(t, dir, env, command("sh", "-c", `
		id -u; id -G; pwd; umask; env | sort; readlink /proc/self/fd/0; cut -d' ' -f1 /proc/self/oom_score_adj
		grep -E '^(NoNewPrivs|CapEff)' /proc/self/status; ls /proc/self/fd; echo told >&2`))
	want := "1000\n1000\n/\n0077\nGH_CONFIG_DIR=/x\nHOME=" + dir + "/home\nPATH=/usr/bin:/bin\nPWD=/\n/dev/null\n200\n" +
		"CapEff:\t0000000000000000\nNoNewPrivs:\t1\n0\n1\n2\n3\n"
	if !got.OK || got.value != want || got.stderr != "told\n" {
		t.Errorf("got %+v,\nwant %q", got, want)
	}
}

func TestA82_ACommandThatFailsSaysSo(t *testing.T) {
	dir := playground(t)
	got := resolve(t, dir, somePath, command("sh", "-c", "echo no; echo why >&2; exit 3"))
	if got.OK || got.Exit != 3 || got.value != "" || got.stderr != "why\n" || !strings.HasSuffix(got.Reason, `failed for you (exit 3)`) {
		t.Errorf("exit 3: %+v", got)
	}
	if got = resolve(t, dir, somePath, command("sh", "-c", "yes | head -c 70000")); got.OK || got.value != "" {
		t.Errorf("too much output: OK %v, %d bytes", got.OK, len(got.value))
	}
	got = resolve(t, dir, somePath, command("sh", "-c", "yes | head -c 70000 >&2; echo end >&2; echo v"))
	if !got.OK || got.value != "v\n" || len(got.stderr) != 4<<10 || !strings.HasSuffix(got.stderr, "end\n") {
		t.Errorf("much error output: %v, %q, %d bytes", got.OK, got.value, len(got.stderr))
	}
}

// Each of these would run or read what a jailed command wrote, outside of its
// jail and as the caller. The marker stays away.
func TestS03_NothingThatTheJailWritesRunsOutside(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	marker := dir + "/home/marker"
	evil := "#!/bin/sh\ntouch " + marker + "\necho s3cret\n"
	script := write(t, w, "scripts/token.sh", 0o755, evil)
	write(t, w, "bin/omnitool", 0o755, evil)
	write(t, w, "token", 0o600, "planted")
	write(t, dir, "home/outer.sh", 0o755, "#!"+script+"\n")
	write(t, dir, "home/calls-it.sh", 0o755, "#!/bin/sh\nomnitool\n")
	symlink(t, script, dir+"/home/link")
	symlink(t, w+"/scripts", dir+"/home/dirlink")
	symlink(t, "/usr/bin/true", w+"/true")
	for name, s := range map[string]creds.Source{
		"the program itself":           command(script),
		"by a link outside":            command(dir + "/home/link"),
		"by a link to its directory":   command(dir + "/home/dirlink/token.sh"),
		"a planted link to a good one": command(w + "/true"),
		"found in PATH":                command("omnitool"),
		"an argument":                  command("sh", script),
		"an argument after =":          command("env", "X=y", "sh", "--rcfile="+script),
		"the interpreter":              command(dir + "/home/outer.sh"),
		"relative":                     command("./token.sh"),
		"a program that looks in PATH": command(dir + "/home/calls-it.sh"),
		"a directory of the jail's":    command("ls", w),
		"a file":                       file(w + "/token"),
		"a file by dots":               file(dir + "/home/../w/token"),
	} {
		got := resolve(t, dir, []string{"PATH=" + w + "/bin:scripts:/usr/bin"}, s)
		if got.OK || got.value != "" {
			t.Errorf("%s: %+v", name, got)
		}
		if _, err := os.Lstat(marker); err == nil {
			t.Errorf("%s: it ran", name)
			os.Remove(marker)
		}
	}
	if got := resolve(t, dir, somePath, command("sh", filepath.Join(dir, "home/calls-it.sh"))); got.Exit != 127 {
		t.Errorf("a good script: %+v", got)
	}
}
