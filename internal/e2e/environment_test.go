package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// loaderVariables make a dynamic loader, a C library or a language's run time
// load or run what they name. %s is the attacker's library or file.
var loaderVariables = []string{
	"LD_PRELOAD=%s", "LD_AUDIT=%s", "LD_LIBRARY_PATH=%d", "LD_DEBUG=all", "LD_DEBUG_OUTPUT=%d/out", "LD_PROFILE=libc.so.6", "LD_PROFILE_OUTPUT=%d",
	"LD_BIND_NOW=1", "LD_ORIGIN_PATH=%d", "LD_SHOW_AUXV=1", "LD_USE_LOAD_BIAS=1",
	"GCONV_PATH=%d", "LOCPATH=%d", "NLSPATH=%d/%%N", "GLIBC_TUNABLES=glibc.malloc.check=3", "MALLOC_CHECK_=3", "MALLOC_TRACE=%d/trace",
	"HOSTALIASES=%d/h", "RESOLV_HOST_CONF=%d/h", "TZDIR=%d", "GETCONF_DIR=%d", "TMPDIR=%d",
	"GODEBUG=execerrdot=0", "GOCOVERDIR=%d", "GOTRACEBACK=crash", "GORACE=log_path=%d/race", "SSL_CERT_FILE=%d/ca",
	"BASH_ENV=%d/rc", "ENV=%d/rc", "PYTHONSTARTUP=%d/rc", "PYTHONPATH=%d", "NODE_OPTIONS=--require %s", "PERL5LIB=%d", "PERL5OPT=-d",
}

// A library that is loaded by anything says as whom, and where.
const tellTale = `
	#include <fcntl.h>
	#include <stdio.h>
	#include <unistd.h>
	__attribute__((constructor)) static void told(void) {
		char comm[32] = "", line[96];
		int c = open("/proc/self/comm", 0);
		if (c >= 0) { int n = read(c, comm, 31); comm[n > 0 ? n - 1 : 0] = 0; close(c); }
		int f = open(MARK, O_WRONLY | O_CREAT | O_APPEND, 0666);
		if (f < 0) return;
		write(f, line, snprintf(line, sizeof line, "%d %d %s\n", getuid(), geteuid(), comm));
		close(f);
	}
	unsigned la_version(unsigned v) { return v; }`

func TestS01_NothingOfOursLoadsWhatTheEnvironmentNames(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"rc": ""})
	mark := filepath.Join(dir, "mark")
	lib := compile(t, dir, "x.so", tellTale, "-shared", "-fPIC", `-DMARK="`+mark+`"`)

	var flags []string
	policy := "write_paths: [" + dir + "]\nenv:\n"
	for _, v := range loaderVariables {
		kv := strings.NewReplacer("%s", lib, "%d", dir, "%%", "%").Replace(v)
		name, value, _ := strings.Cut(kv, "=")
		flags = append(flags, "--env", kv)
		policy += fmt.Sprintf("  %s: %q\n", name, value)
	}
	file := filepath.Join(n.Workspace(t, Alice, map[string]string{"p.yaml": policy}), "p.yaml")
	for from, args := range map[string][]string{
		"flags":  append([]string{"exec", "--write", dir}, flags...),
		"policy": {"exec", "--policy", file},
	} {
		t.Run(from, func(t *testing.T) {
			os.Remove(mark)
			n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append(args, "--", "cat", "/dev/null")})
			b, err := os.ReadFile(mark)
			if err != nil {
				t.Fatalf("not even the command loaded the library: %v", err)
			}
			for line := range strings.Lines(string(b)) {
				if line != "2001 2001 cat\n" {
					t.Errorf("loaded as %q", line)
				}
			}
		})
	}
}

func TestS01_NoValueStandsInAProcessOfOurs(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	const flag, passed = "value-of-a-flag-4711", "value-of-the-policy-4712"
	dir := n.Workspace(t, Alice, map[string]string{"p.yaml": "env: {FROM_POLICY: " + passed + "}\n"})
	n.launch(t, Ctl{UID: Alice, Args: []string{
		"exec", "--policy", dir + "/p.yaml", "--env", "FROM_FLAG=" + flag, "--", "sh", "-c", "echo $FROM_FLAG $FROM_POLICY; read x",
	}}).says(t, flag+" "+passed)
	seen := map[string]bool{}
	for _, p := range descendants(t, n.PID()) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p))
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p))
		name := strings.TrimSpace(string(comm))
		seen[name] = true
		if name == "sh" {
			continue // the command, whose environment it is
		}
		for _, v := range []string{flag, passed} {
			if strings.Contains(string(cmdline)+string(environ), v) {
				t.Errorf("%s (%d) holds %s", name, p, v)
			}
		}
		if env := string(environ); name != "omnijaild" && env != "" && env != "PWD=/\x00" { // bwrap says where it starts init
			t.Errorf("%s has the environment %q", name, environ)
		}
	}
	if !seen["sh"] || len(seen) < 3 {
		t.Errorf("the processes looked at are only %v", seen)
	}
}

// descendants are a process and all below it.
func descendants(t testing.TB, pid int) []int {
	t.Helper()
	all := []int{pid}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range tasks {
		b, _ := os.ReadFile(f)
		for _, s := range strings.Fields(string(b)) {
			child, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, descendants(t, child)...)
		}
	}
	return all
}
