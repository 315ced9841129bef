package selftest

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// procAttempts use the kernel's files: what they tell of the node, and what
// writing to them would change there.
func procAttempts() (out []Attempt) {
	add := func(name, tries, must string, probe func(*Site) Finding) *Attempt {
		out = append(out, Attempt{Name: "proc." + name, Tries: tries, Must: must, Guarantee: jail.NoPrivilege, probe: probe})
		return &out[len(out)-1]
	}
	for _, p := range []string{"kcore", "kmsg", "keys", "timer_list", "latency_stats", "kpagecount", "kpageflags", "slabinfo", "vmallocinfo"} {
		a := add("read_"+p, "read /proc/"+p, "empty, absent or refused", func(*Site) Finding {
			_, err := readFirst("/proc/" + p)
			return fails(err)
		})
		a.needs = "/proc/" + p
	}
	add("kernel_addresses", "read where the kernel's code is", "addresses are zero", func(*Site) Finding {
		text, err := readFirst("/proc/kallsyms")
		if err != nil || strings.HasPrefix(text, "0000000000000000") {
			return refused("%.20s %v", text, err)
		}
		return succeeded("%.20s", text)
	}).NoControl = "the node may hide them from root too"
	for _, p := range []string{
		"sysrq-trigger", "sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hostname", "sys/kernel/randomize_va_space", "sys/kernel/sysrq",
		"sys/kernel/yama/ptrace_scope", "sys/kernel/unprivileged_bpf_disabled", "sys/kernel/ns_last_pid", "sys/kernel/printk", "sys/vm/drop_caches", "sys/vm/overcommit_memory",
		"sys/vm/panic_on_oom", "sys/fs/protected_symlinks", "sys/fs/suid_dumpable", "sys/fs/binfmt_misc/register", "sys/user/max_user_namespaces",
		"sys/net/ipv4/ip_forward", "sys/net/ipv4/ip_unprivileged_port_start", "sys/net/ipv6/conf/all/disable_ipv6", "sys/net/core/somaxconn",
		"irq/default_smp_affinity", "mtrr", "acpi/wakeup", "scsi/scsi", "1/oom_score_adj", "1/comm", "1/clear_refs", "1/uid_map", "1/mem", "1/coredump_filter",
	} {
		a := add("write_"+strings.NewReplacer("/", "_", "-", "_").Replace(p), "open /proc/"+p+" for writing", "EROFS, EACCES or absent", func(*Site) Finding {
			return opened(os.OpenFile("/proc/"+p, os.O_WRONLY, 0))
		})
		a.needs = "/proc/" + p
		if p == "sys/user/max_user_namespaces" {
			a.NoControl = resourceful
		}
	}
	for _, p := range []string{"mem", "environ", "maps", "auxv", "stack", "syscall", "smaps", "pagemap", "io"} {
		add("read_1_"+p, "read /proc/1/"+p, "EACCES, EPERM or EIO", func(*Site) Finding {
			_, err := readFirst("/proc/1/" + p)
			return fails(err)
		}).NoControl = readableHere[p]
	}
	for _, p := range []string{"root", "cwd", "exe", "fd/0", "ns/mnt", "ns/net", "ns/user"} {
		add("enter_1_"+strings.ReplaceAll(p, "/", "_"), "open what /proc/1/"+p+" leads to", "EACCES", func(*Site) Finding {
			fd, err := unix.Open("/proc/1/"+p, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return fails(err)
		})
	}
	add("list_1_fd", "list the descriptors of process 1", "EACCES", func(*Site) Finding {
		_, err := os.ReadDir("/proc/1/fd")
		return fails(err)
	})
	for _, p := range []string{"uid_map", "gid_map", "setgroups", "loginuid", "attr/current", "timens_offsets"} {
		add("write_self_"+strings.ReplaceAll(p, "/", "_"), "write one's own /proc/self/"+p, "EPERM, EACCES, EINVAL or absent", func(*Site) Finding {
			return fails(os.WriteFile("/proc/self/"+p, []byte("0 0 1\n"), 0))
		}).NoControl = "the kernel lets nobody change it here"
	}
	add("oom_score", "have the kernel spare this process for others", "EACCES", func(*Site) Finding {
		return fails(os.WriteFile("/proc/self/oom_score_adj", []byte("-500"), 0))
	}).NoControl = resourceful
	add("processes", "see a process that is not of this jail", absent, foreignProcesses)
	add("victim", "see a process of the caller's outside", absent, func(s *Site) Finding {
		comm, err := readFirst(fmt.Sprintf("/proc/%d/cmdline", s.Victim))
		if err != nil || !strings.Contains(comm, "omnijail-selftest-victim") {
			return refused("it is not there")
		}
		return succeeded("process %d is %q", s.Victim, comm)
	})
	return out
}

const resourceful = "it takes CAP_SYS_RESOURCE, which root may lack too"

// readableHere says what root may not be able to read either.
var readableHere = map[string]string{"stack": "the node may refuse it to root", "syscall": "not every kernel has it", "io": "not every kernel has it", "mem": "address 0 is mapped nowhere"}

// foreignProcesses looks for anything that neither makes the jail nor runs in it.
func foreignProcesses(s *Site) Finding {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return notRun("%v", err)
	}
	n := 0
	for _, e := range entries {
		if e.Name()[0] >= '0' && e.Name()[0] <= '9' {
			n++
		}
	}
	if n > 2 { // process 1 and the probe
		return succeeded("%d processes are there", n)
	}
	return refused("%d processes, all of the jail", n)
}
