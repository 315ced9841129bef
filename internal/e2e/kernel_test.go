package e2e

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// kernelProbe makes the calls that a jail is refused and prints what came of
// each. Arguments are such that without the filter the call would work for
// anybody, or fail in another way, unless it is root's alone.
const kernelProbe = `
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define HIGH (1L << 32)
static void try(const char *name, long nr, long a, long b, long c, long d) {
	errno = 0;
	long r = syscall(nr, a, b, c, d, 0L, 0L);
	if (r == 0 && (nr == SYS_clone)) _exit(0);
	printf("%s %s\n", name, r < 0 ? strerrorname_np(errno) : "OK");
}
#define T(nr, a, b, c, d) try(#nr, SYS_##nr, (long)(a), (long)(b), (long)(c), (long)(d))
#define N(name, nr, a, b, c, d) try(name, nr, (long)(a), (long)(b), (long)(c), (long)(d))
int main(void) {
	struct rlimit one = {1, 1}, none = {0, 0};
	static char file[] = "victim", bad[8];
	static unsigned long how[3] = {O_CREAT | O_RDWR, 04755, 0};
	int victim = open(file, O_CREAT | O_RDWR, 0755);
	setvbuf(stdout, 0, _IONBF, 0);

	T(init_module, bad, 0, bad, 0); T(finit_module, victim, bad, 0, 0); T(delete_module, bad, 0, 0, 0);
	T(mount, "none", "/tmp", "tmpfs", 0); T(umount2, "/tmp", 0, 0, 0); T(pivot_root, "/", "/", 0, 0); T(chroot, "/", 0, 0, 0);
	N("open_tree", 428, AT_FDCWD, "/", 1, 0); N("move_mount", 429, -1, "", -1, ""); N("fsopen", 430, "tmpfs", 0, 0, 0);
	N("fsconfig", 431, -1, 0, 0, 0); N("fsmount", 432, -1, 0, 0, 0); N("fspick", 433, AT_FDCWD, "/", 0, 0); N("mount_setattr", 442, AT_FDCWD, "/", 0, 0);
	T(open_by_handle_at, AT_FDCWD, bad, 0, 0); T(setns, victim, 0, 0, 0);
	T(unshare, CLONE_NEWUSER, 0, 0, 0); T(unshare, CLONE_FILES, 0, 0, 0); N("unshare high", SYS_unshare, HIGH | CLONE_NEWUSER, 0, 0, 0);
	int ns[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};
	for (int i = 0; i < 7; i++) { T(clone, ns[i] | SIGCHLD, 0, 0, 0); N("clone high", SYS_clone, HIGH | ns[i] | SIGCHLD, 0, 0, 0); }
	N("clone3", 435, bad, 0, 0, 0);
	T(bpf, 0, bad, 0, 0); T(perf_event_open, bad, 0, -1, -1); T(userfaultfd, 0, 0, 0, 0); T(kcmp, getpid(), getpid(), 0, 0); T(fanotify_init, 0, 0, 0, 0);
	T(settimeofday, bad, 0, 0, 0); T(clock_settime, 0, bad, 0, 0); T(adjtimex, 0, 0, 0, 0); T(clock_adjtime, 0, 0, 0, 0);
	T(reboot, 0, 0, 0, 0); T(kexec_load, 0, 0, 0, 0); T(syslog, 10, 0, 0, 0); T(swapon, bad, 0, 0, 0); T(swapoff, bad, 0, 0, 0);
	T(acct, 0, 0, 0, 0); T(quotactl, 0, 0, 0, 0); T(mbind, 0, 0, 0, 0); T(set_mempolicy, 0, 0, 0, 0); T(move_pages, 0, 0, 0, 0); T(migrate_pages, 0, 0, 0, 0);
	T(sethostname, bad, 1, 0, 0); T(setdomainname, bad, 1, 0, 0); T(vhangup, 0, 0, 0, 0);
	N("pidfd_getfd", 438, -1, 0, 0, 0); N("process_madvise", 440, -1, 0, 0, 0);
	T(add_key, "user", "k", bad, 1); T(request_key, "user", "k", 0, 0); T(keyctl, 0, -3, 0, 0);
	T(ptrace, 0, 0, 0, 0); T(process_vm_readv, getpid(), 0, 0, 0); T(process_vm_writev, getpid(), 0, 0, 0);
	N("io_uring_setup", 425, 1, bad, 0, 0); N("io_uring_enter", 426, -1, 0, 0, 0); N("io_uring_register", 427, -1, 0, 0, 0);
	N("memfd_secret", 447, 0, 0, 0, 0);
	T(personality, ADDR_NO_RANDOMIZE, 0, 0, 0); N("personality high", SYS_personality, HIGH | ADDR_NO_RANDOMIZE, 0, 0, 0);
	T(ioctl, 0, 0x5412, bad, 0); N("ioctl high", SYS_ioctl, 0, HIGH | 0x5412, bad, 0); N("ioctl TIOCLINUX", SYS_ioctl, 0, 0x541c, bad, 0);
	T(setrlimit, RLIMIT_CORE, &none, 0, 0); N("setrlimit high", SYS_setrlimit, HIGH | RLIMIT_CORE, &none, 0, 0);
	T(prlimit64, 0, RLIMIT_CORE, &one, 0); N("prlimit64 high", SYS_prlimit64, 0, HIGH | RLIMIT_CORE, &none, 0);

	T(chmod, file, 04755, 0, 0); N("chmod high", SYS_chmod, file, HIGH | 04755, 0, 0); T(fchmod, victim, 04755, 0, 0); T(fchmodat, AT_FDCWD, file, 04755, 0);
	N("fchmodat2", 452, AT_FDCWD, file, 04755, 0); T(mknod, "n1", S_IFREG | 04755, 0, 0); T(mknodat, AT_FDCWD, "n2", S_IFREG | 04755, 0);
	T(open, "n3", O_CREAT | O_RDWR, 04755, 0); T(openat, AT_FDCWD, "n4", O_CREAT | O_RDWR, 04755); N("openat high", SYS_openat, AT_FDCWD, "n5", HIGH | O_CREAT | O_RDWR, HIGH | 04755);
	T(open, ".", O_TMPFILE | O_RDWR, 04755, 0); T(creat, "n6", 04755, 0, 0); N("openat2", 437, AT_FDCWD, "n7", how, sizeof how); T(mkdir, "d", 0755, 0, 0);

	N("a reviewed number's successor", 1000, 0, 0, 0, 0); N("far", 0x7fffffff, 0, 0, 0, 0); N("mseal", 462, 0, 0, 0, 0);
#ifdef __x86_64__
	N("x32 getpid", 0x40000000 | SYS_getpid, 0, 0, 0, 0);
	int r, calls[] = {20, 102, 11, 120, 26};
	for (int i = 0; i < 5; i++) {
		__asm__ volatile("int $0x80" : "=a"(r) : "a"(calls[i]), "b"(0), "c"(0), "d"(0) : "memory");
		printf("i386 %d %s\n", calls[i], r < 0 ? strerrorname_np(-r) : "OK");
	}
#endif
	return 0;
}`

// expected is what a jail answers where it is not EPERM.
var expected = map[string]string{
	"clone3": "ENOSYS", "openat2": "ENOSYS", "far": "ENOSYS", "mseal": "ENOSYS", "x32": "ENOSYS", "i386": "ENOSYS", "a": "ENOSYS", "mkdir": "OK",
}

func TestS25_S29_CallsThatAJailIsRefused(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the probe's numbers are amd64's")
	}
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, nil)
	compile(t, dir, "probe", kernelProbe)
	lines := strings.Split(strings.TrimSpace(n.sh(t, dir, "./probe")), "\n")
	if len(lines) < 100 {
		t.Fatalf("the probe ended early: %q", lines)
	}
	for _, line := range lines {
		name, got := line[:strings.LastIndexByte(line, ' ')], line[strings.LastIndexByte(line, ' ')+1:]
		want := expected[strings.Fields(name)[0]]
		if want == "" {
			want = "EPERM"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Lstat(p); err == nil && fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s left the jail as %v", p, fi.Mode())
		}
		return nil
	})
}

func TestS29_SocketFamilies(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, nil)
	compile(t, dir, "families", `
		#define _GNU_SOURCE
		#include <stdio.h>
		#include <unistd.h>
		#include <sys/socket.h>
		#include <sys/syscall.h>
		int main(void) {
			int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, SOCK_PACKET, SOCK_STREAM | SOCK_CLOEXEC};
			long high[] = {0, 1L << 32, 0xffffffffL << 32};
			for (long f = 0; f < 64; f++) for (int t = 0; t < 7; t++) for (int p = 0; p < 300; p++) for (int h = 0; h < 3; h++)
				if (syscall(SYS_socket, high[h] | f, high[h] | types[t], high[h] | p) >= 0) {
					close(3);
					printf("%ld/%d/%d\n", f, types[t] & 0xf, p);
				}
			return 0;
		}`)
	allowed := map[string]bool{
		"1/1/0": true, "1/2/0": true, "1/5/0": true, "1/3/0": true, "1/1/1": true, "1/2/1": true, "1/5/1": true, "1/3/1": true,
		"2/1/0": true, "2/1/6": true, "2/2/0": true, "2/2/17": true, "10/1/0": true, "10/1/6": true, "10/2/0": true, "10/2/17": true,
		"2/2/136": true, "10/2/136": true, // UDP-Lite
		"16/2/0": true, "16/3/0": true,
	}
	made := []string{"1/1/0", "2/1/0", "10/2/0", "16/3/0"}
	if noUnixSockets() {
		made = made[1:]
		maps.DeleteFunc(allowed, func(s string, _ bool) bool { return strings.HasPrefix(s, "1/") })
	}
	seen := map[string]bool{}
	for _, s := range strings.Fields(n.sh(t, dir, "./families")) {
		if !allowed[s] && !seen[s] {
			t.Errorf("socket family/type/protocol %s can be made", s)
		}
		seen[s] = true
	}
	for _, s := range made {
		if !seen[s] {
			t.Errorf("socket %s cannot be made", s)
		}
	}
}

// A piped core handler of the node runs as root, outside. The kernel starts it
// for every limit but exactly 1, and a limit of 1 can be lowered to 0.
func TestS29_CoreLimit(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, nil)
	out := n.sh(t, dir, `grep core /proc/self/limits | tr -s ' '; ulimit -c 0 2>/dev/null && echo lowered
		cat /proc/self/coredump_filter; sh -c 'kill -SEGV $$' 2>/dev/null; echo $?; ls -a | grep core; true`)
	wantLines(t, out, "Max core file size 1 1 bytes ", "00000033", "139")
}
