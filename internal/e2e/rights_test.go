package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestS04_WhoTheCommandIs(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, nil)
	t.Run("no privilege is left", func(t *testing.T) {
		out := n.sh(t, dir, `grep -E '^(Uid|Gid|Groups|Cap...|NoNewPrivs|Seccomp):' /proc/self/status | tr -d ' \t'`)
		wantLines(t, out,
			"Uid:2001200120012001", "Gid:2001200120012001", "Groups:",
			"CapInh:0000000000000000", "CapPrm:0000000000000000", "CapEff:0000000000000000",
			"CapBnd:0000000000000000", "CapAmb:0000000000000000", "NoNewPrivs:1", "Seccomp:2")
	})
	t.Run("its files are the caller's", func(t *testing.T) {
		n.sh(t, dir, "touch made && mkdir tree && touch tree/leaf")
		for _, name := range []string{"made", "tree", "tree/leaf"} {
			checkOwner(t, filepath.Join(dir, name), Alice)
		}
	})
	t.Run("privilege does not come back", func(t *testing.T) {
		compile(t, dir, "climb", `
			#define _GNU_SOURCE
			#include <stdio.h>
			#include <unistd.h>
			#include <grp.h>
			#include <sys/prctl.h>
			#define TRY(x) if ((x) == 0) puts(#x)
			int main(void) {
				gid_t g[] = {0, 2100};
				TRY(setuid(0)); TRY(setresuid(0, 0, 0)); TRY(seteuid(0)); TRY(setgid(0)); TRY(setgid(2100));
				TRY(setgroups(2, g)); TRY(setgroups(1, g + 1));
				TRY(prctl(PR_SET_KEEPCAPS, 1)); TRY(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
				TRY(prctl(PR_SET_SECUREBITS, 0)); TRY(prctl(PR_SET_NO_NEW_PRIVS, 0)); TRY(chroot("/"));
				return 0;
			}`)
		wantLines(t, n.sh(t, dir, "./climb; su -c id 2>/dev/null; sudo -n id 2>/dev/null; true"), "")
	})
}

func TestS04_RefusedIdentities(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	root := func(user string) Output {
		args := []string{"exec"}
		if user != "" {
			args = append(args, "--user", user)
		}
		return n.Run(t, Ctl{UID: 0, Dir: n.Project(t, Alice), Args: append(args, "--", "id")})
	}
	for user, why := range map[string]string{
		"":                            "root must say as whom",
		"0":                           "never runs as uid 0",
		"root":                        "never runs as uid 0",
		"2001:0":                      "never runs as uid 0 or gid 0",
		"65534":                       "nobody's own",
		"2001:65534":                  "nobody's own",
		"4294967295":                  "user",
		"4294967296":                  "no user",
		"-1":                          "user",
		"33":                          "system user",
		fmt.Sprint(egressUID):         "egress user",
		"nosuchuser":                  "no user",
		fmt.Sprintf("2001:%d", 1<<32): "no user",
	} {
		root(user).wantRefused(t, why)
	}
	if out := root("2001").Want(t, 0).Stdout; !strings.HasPrefix(out, "uid=2001(u2001) gid=2001") {
		t.Errorf("root's jail as 2001 is %q", out)
	}
	n.Exec(t, "--user", "2002", "--", "id").wantRefused(t, "--user is for root")
	n.Exec(t, "--user", "2001", "--", "id").wantRefused(t, "--user is for root")
}

// The socket's group, gid 0 and whatever else root could give are no jail's,
// though a policy lists them and, for some, the caller is a member.
func TestS04_ListedGroups(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	for _, g := range []string{"0", "root", "shadow", "disk", fmt.Sprint(socketGID), "2002", "65534"} {
		dir := n.Workspace(t, Alice, map[string]string{"p.yaml": "groups: [\"" + g + "\"]\n"})
		o := n.Run(t, Ctl{UID: Alice, Dir: n.Project(t, Alice), Args: []string{"exec", "--policy", dir + "/p.yaml", "--", "id"}})
		o.wantRefused(t, "groups", g)
	}
}

func TestS04_ProcessOneAndOthersAreOutOfReach(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, nil)
	compile(t, dir, "reach", `
		#define _GNU_SOURCE
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		#include <fcntl.h>
		#include <signal.h>
		#include <sched.h>
		#include <sys/ptrace.h>
		#include <sys/resource.h>
		#include <sys/syscall.h>
		#include <sys/uio.h>
		#define TRY(x) if ((long)(x) >= 0) puts(#x)
		int main(int argc, char **argv) {
			int pid = atoi(argv[1]);
			struct rlimit64 l = {1, 1};
			char b[8]; struct iovec v = {b, 8}, r = {(void *)0x400000, 8};
			cpu_set_t cpus; CPU_ZERO(&cpus); CPU_SET(0, &cpus);
			TRY(ptrace(PTRACE_ATTACH, pid, 0, 0)); TRY(ptrace(PTRACE_SEIZE, pid, 0, 0));
			TRY(process_vm_readv(pid, &v, 1, &r, 1, 0)); TRY(process_vm_writev(pid, &v, 1, &r, 1, 0));
			TRY(syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &l, 0));
			TRY(setpriority(PRIO_PROCESS, pid, 19)); TRY(sched_setaffinity(pid, sizeof cpus, &cpus));
			int fd = syscall(SYS_pidfd_open, pid, 0);
			if (fd >= 0) { TRY(syscall(SYS_pidfd_getfd, fd, 0, 0)); TRY(syscall(SYS_pidfd_send_signal, fd, 0, 0, 0)); }
			const char *names[] = {"mem", "environ", "maps", "syscall", "stack", "auxv", 0};
			for (int i = 0; names[i]; i++) {
				char p[64]; snprintf(p, sizeof p, "/proc/%d/%s", pid, names[i]);
				int f = open(p, O_RDONLY);
				if (f >= 0 && read(f, b, 8) > 0) printf("read %s\n", names[i]);
			}
			const char *links[] = {"fd", "fdinfo", "root", "cwd", "exe", "map_files", "ns/net", 0};
			for (int i = 0; links[i]; i++) {
				char p[64]; snprintf(p, sizeof p, "/proc/%d/%s/", pid, links[i]);
				if (open(p, O_PATH) >= 0 && open(p, O_RDONLY | O_DIRECTORY) >= 0) printf("entered %s\n", links[i]);
			}
			const char *files[] = {"oom_score_adj", "mem", "comm", "clear_refs", "coredump_filter", "setgroups", "uid_map", 0};
			for (int i = 0; files[i]; i++) {
				char p[64]; snprintf(p, sizeof p, "/proc/%d/%s", pid, files[i]);
				int f = open(p, O_WRONLY);
				if (f >= 0 && write(f, "1", 1) > 0) printf("wrote %s\n", files[i]);
			}
			TRY(kill(pid, 0)); TRY(kill(pid, SIGSTOP)); TRY(syscall(SYS_tgkill, pid, pid, SIGTERM)); TRY(kill(pid, SIGKILL));
			return 0;
		}`)
	wantLines(t, n.sh(t, dir, "./reach 1"), "")
	// The jail has nobody but its own: neither the node's processes nor the
	// caller's other ones are there to be reached.
	out := n.sh(t, dir, `for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; cat $p/comm; done | grep -c . ; ls -d /proc/[0-9]* | wc -l`)
	if f := strings.Fields(out); len(f) != 2 || len(f[1]) > 1 {
		t.Errorf("processes in the jail: %q", out)
	}
	t.Run("the probe reaches what may be reached", func(t *testing.T) {
		out := n.sh(t, dir, `mkfifo up stay; sh -c 'echo > up; read x' 0<>stay & read y < up; ./reach $!`)
		for _, want := range []string{"kill(pid, 0)", "read maps", "entered fd"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in %q", want, out)
			}
		}
		if strings.Contains(out, "ptrace") || strings.Contains(out, "process_vm") || strings.Contains(out, "pidfd_getfd") {
			t.Errorf("refused calls worked: %q", out)
		}
	})
}
