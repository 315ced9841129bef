package bwrap_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/pty"
)

func TestS04_IdentityInside(t *testing.T) {
	r := newRig(t)
	out := r.run(t, command{
		argv: []string{"/bin/cat", "/proc/self/status"}, layout: layout(), descs: noDescs,
		launch: func(l *jail.Launch) { l.Groups = []uint32{1003, 44} },
	})
	for _, want := range []string{
		`Uid:\t1000\t1000\t1000\t1000\n`, `Gid:\t1001\t1001\t1001\t1001\n`, `Groups:\t44 1003 ?\n`,
		`CapInh:\t0+\n`, `CapPrm:\t0+\n`, `CapEff:\t0+\n`, `CapBnd:\t0+\n`, `CapAmb:\t0+\n`,
		`NoNewPrivs:\t1\n`, `Seccomp:\t2\n`, `SigBlk:\t0+\n`, `SigIgn:\t0+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out.stdout) {
			t.Errorf("no %s in\n%s", want, out.stdout)
		}
	}
}

func TestS04_RootIsRefused(t *testing.T) {
	s := spec()
	s.OCI.Process.User.UID = 0
	if _, err := newRig(t).backend.Command(s, jail.Staged{}); err == nil {
		t.Error("a spec for uid 0 was lowered")
	}
}

// The attack of S01: a library that writes who loaded it, named by every
// variable that a loader or a runtime obeys.
func TestS01_EnvironmentReachesOnlyTheCommand(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	lib := buildLibrary(t, ws)
	for _, name := range []string{
		"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "GCONV_PATH", "LOCPATH", "NLSPATH", "GETCONF_DIR",
		"HOSTALIASES", "LOCALDOMAIN", "MALLOC_TRACE", "NIS_PATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TMPDIR",
		"TZDIR", "LD_ORIGIN_PATH", "LD_PROFILE", "LD_DEBUG_OUTPUT", "GLIBC_TUNABLES", "GODEBUG", "GOCOVERDIR",
		"GOTRACEBACK", "BASH_ENV", "ENV", "PERL5LIB", "PYTHONPATH", "NODE_OPTIONS", "RUBYLIB", "OPENSSL_CONF", "SSL_CERT_FILE",
	} {
		l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true, Write: true})
		o := r.run(t, command{argv: []string{"/bin/true"}, env: []string{name + "=" + lib}, layout: l, descs: d, launch: inDir(ws)})
		if o.err != nil { // the command itself may well fail
			t.Fatalf("%s: %v, %s", name, o.err, o.complaint)
		}
	}
	seen, err := os.ReadFile(filepath.Join(ws, "loaded-by"))
	if err != nil {
		t.Fatalf("the library was loaded by nobody, so the test proves nothing: %v", err)
	}
	for _, line := range strings.Fields(string(seen)) {
		if line != "1000" {
			t.Errorf("the library was loaded by uid %s", line)
		}
	}
}

func inDir(dir string) func(*jail.Launch) { return func(l *jail.Launch) { l.Cwd = dir } }

// buildLibrary makes a library whose constructor appends its uid to loaded-by.
func buildLibrary(t *testing.T, dir string) string {
	t.Helper()
	src := filepath.Join(t.TempDir(), "lib.c")
	write(t, src, `
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
	char line[32];
	int fd = open("`+dir+`/loaded-by", O_WRONLY|O_CREAT|O_APPEND, 0666);
	if (fd >= 0) { write(fd, line, snprintf(line, sizeof line, "%d\n", geteuid())); close(fd); }
}`)
	lib := filepath.Join(dir, "lib.so")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", lib, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	os.Chmod(lib, 0o755)
	return lib
}

// What everybody can read of our processes holds no value of the caller's.
func TestS01_NoValueInProc(t *testing.T) {
	r := newRig(t)
	const value = "sekrit-4711"
	s, err := r.start(t, command{argv: []string{"/bin/cat", value}, env: []string{"TOKEN=" + value}, layout: layout(), descs: noDescs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.end(t)
	pidfd, err := s.channel.Ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pidfd.Close()
	for _, pid := range descendants(t, s.process.PID) {
		for _, name := range []string{"cmdline", "environ"} {
			b, err := os.ReadFile(filepath.Join("/proc", pid, name))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte(value)) {
				t.Errorf("/proc/%s/%s holds the value: %q", pid, name, b)
			}
			if name == "environ" && bytes.Contains(b, []byte("PATH=")) {
				t.Errorf("process %s inherited an environment: %q", pid, b)
			}
		}
	}
}

func TestS27_InheritedStateIsReset(t *testing.T) {
	r := newRig(t)
	out := r.sh(t, layout(), noDescs, `
		cat /proc/self/limits /proc/self/oom_score_adj /proc/self/coredump_filter /proc/self/timerslack_ns
		umask; cat /proc/self/personality; ulimit -n; nice; test ! -e /proc/self/loginuid || cat /proc/self/loginuid`)
	for _, want := range []string{
		`Max core file size +1 +1 `, `Max locked memory +8388608 +8388608 `, `Max realtime priority +0 +0 `,
		`Max nice priority +0 +0 `, `Max stack size +8388608 `, `Max pending signals +65536 +65536 `,
		`\n200\n00000033\n50000\n`, `\n0022\n00000000\n1024\n0\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestS04_ProcessOneIsUntouchable(t *testing.T) {
	r := newRig(t)
	out := r.sh(t, layout(), noDescs, `
		for sig in 0 TERM KILL STOP; do kill -$sig 1 2>/dev/null && echo signalled; done
		for f in fd exe root cwd environ maps mem; do
			case $f in fd) ls /proc/1/fd;; exe|root|cwd) readlink /proc/1/$f;; *) cat /proc/1/$f;; esac 2>/dev/null && echo "read $f"
		done
		prlimit --pid 1 --nofile=1 2>/dev/null && echo limited
		renice 19 1 2>/dev/null && echo reniced
		echo 1000 2>/dev/null >/proc/1/oom_score_adj && echo scored
		cat /proc/1/status | grep -E 'CapEff|NoNewPrivs|Seccomp:' | tr '\n' ' '`)
	want := regexp.MustCompile(`^CapEff:\t0+ NoNewPrivs:\t1 Seccomp:\t2 $`)
	if !want.MatchString(out) {
		t.Errorf("got %q", out)
	}
}

func TestNamespacesAreFresh(t *testing.T) {
	r := newRig(t)
	out := r.sh(t, layout(), noDescs, `cd /proc/self/ns && readlink pid ipc uts cgroup mnt; hostname; ls /proc | grep -c '^[0-9]'`)
	lines := strings.Fields(out)
	for i, ns := range []string{"pid", "ipc", "uts", "cgroup", "mnt"} {
		ours, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			t.Fatal(err)
		}
		if lines[i] == ours {
			t.Errorf("namespace %s is the node's", ns)
		}
	}
	if lines[5] != "omnijail" {
		t.Errorf("hostname is %s", lines[5])
	}
}

func TestExitCodes(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	write(t, filepath.Join(ws, "plain"), "no program\n")
	write(t, filepath.Join(ws, "garbage"), "\x01\x02\x03")
	os.Chmod(filepath.Join(ws, "garbage"), 0o755)
	for _, c := range []struct {
		argv   []string
		launch func(*jail.Launch)
		told   func([]string) []string
		exit   int
		stage  string
	}{
		{argv: []string{"/bin/true"}},
		{argv: []string{"/bin/false"}, exit: 1},
		{argv: []string{"/bin/sh", "-c", "exit 42"}, exit: 42},
		{argv: []string{"/bin/sh", "-c", "kill -TERM $$"}, exit: 128 + 15},
		{argv: []string{"/nowhere/x"}, exit: 127, stage: "executing"},
		{argv: []string{ws + "/plain"}, exit: 126, stage: "executing"},
		{argv: []string{ws + "/garbage"}, exit: 126, stage: "executing"},
		{argv: []string{ws}, exit: 126, stage: "executing"},
		{argv: []string{"/bin/true"}, launch: inDir("/nowhere"), exit: 125, stage: "working directory"},
		{argv: []string{"/bin/true"}, told: func(args []string) []string { return args[:len(args)-1] }, exit: 125, stage: "filter"},
		{argv: []string{"/bin/true"}, told: func(args []string) []string { return append(args[:len(args)-1], "none") }, exit: 125, stage: "filter"},
	} {
		l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true})
		o := r.run(t, command{argv: c.argv, launch: c.launch, told: c.told, layout: l, descs: d})
		exit := o.exit
		if failed, ok := o.err.(*jail.StartError); ok {
			exit = failed.Exit()
		}
		if exit != c.exit || (o.err == nil) != (c.stage == "") || o.err != nil && !strings.Contains(o.err.Error(), c.stage) {
			t.Errorf("%v: exit %d, %v; want %d %s", c.argv, exit, o.err, c.exit, c.stage)
		}
	}
}

func TestArgumentsAndStdioAreBytes(t *testing.T) {
	r := newRig(t)
	o := r.run(t, command{
		argv:   []string{"/bin/sh", "-c", `printf '%s|' "$@"; cat; echo err >&2`, "sh", "\xff\xfe", "", "a b"},
		layout: layout(), descs: noDescs, stdin: strings.NewReader("typed"),
	})
	if o.stdout != "\xff\xfe||a b|typed" || o.stderr != "err\n" || o.complaint != "" {
		t.Errorf("stdout %q, stderr %q, backend %q, %v", o.stdout, o.stderr, o.complaint, o.err)
	}
}

func TestS02_OnlyThreeDescriptors(t *testing.T) {
	r := newRig(t)
	all := []string{"/bin/readlink"}
	for fd := range 64 {
		all = append(all, fmt.Sprintf("/proc/self/fd/%d", fd))
	}
	open := r.run(t, command{argv: all, layout: layout(), descs: noDescs})
	if n := strings.Count(open.stdout, "pipe:["); n != 3 || strings.Count(open.stdout, "\n") != 3 {
		t.Errorf("open descriptors: %q", open.stdout)
	}
	o := r.run(t, command{argv: []string{"/bin/readlink", "/proc/self/fd/0"}, layout: layout(), descs: noDescs,
		launch: func(l *jail.Launch) { l.Stdio[0] = -1 }})
	if o.stdout != "/dev/null\n" {
		t.Errorf("closed stdin arrives as %q", o.stdout)
	}
}

func TestS02_TerminalIsTheJailsOwn(t *testing.T) {
	r := newRig(t)
	d, err := pty.NewDevpts()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	master, slave, err := d.Terminal(uid)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	descs := noDescs
	descs.Pts = d.Mount()
	s, err := r.start(t, command{
		argv:   []string{"/bin/sh", "-c", "tty; ps -o tty= -p $$; test $(ps -o sid= -p $$) = $$ && echo leader; exec 3<>/dev/pts/0 && echo reopened; exec 4<>/dev/tty && echo controlling"},
		env:    []string{"PATH=/usr/bin:/bin"},
		layout: layout(), descs: descs, tty: slave,
		launch: func(l *jail.Launch) { l.TTY = true },
	})
	if err != nil {
		t.Fatal(err)
	}
	slave.Close()
	defer s.end(t)
	s.goOn(t)
	var got bytes.Buffer
	got.ReadFrom(master) // ends with EIO once the last slave is closed
	for _, want := range []string{"/dev/pts/0\r\npts/0\r\n", "leader", "reopened", "controlling"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in %q", want, got.String())
		}
	}
}

// A signal to its own group must not leave the jail: all jails of a uid would
// share the daemon's group.
func TestJailHasItsOwnProcessGroup(t *testing.T) {
	r := newRig(t)
	other, err := r.start(t, command{argv: []string{"/bin/cat"}, layout: layout(), descs: noDescs, stdin: never{}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.end(t)
	pidfd := other.goOn(t)
	o := r.run(t, command{argv: []string{"/bin/sh", "-c", "kill -KILL 0"}, layout: layout(), descs: noDescs})
	if o.exit != 128+int(syscall.SIGKILL) {
		t.Errorf("exit %d, want the killer killed", o.exit)
	}
	if err := signal0(pidfd); err != nil {
		t.Errorf("the other jail's command was hit: %v", err)
	}
}
