package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Machine is a systemd, PID 1 of namespaces of its own, on this machine's files
// with a layer over them. Its services are real, its kernel is ours.
type Machine struct {
	dir    string
	cgroup string
	cmd    *exec.Cmd
	log    *syncBuffer
	lab    *MachineLab     // nil unless started
	gone   <-chan struct{} // closed when PID 1 has ended; nil before it started
}

// masked are units that would act on the kernel that the machine shares with us,
// or wait for hardware that it does not have.
var masked = []string{
	"systemd-sysctl.service", "systemd-modules-load.service", "systemd-random-seed.service", "systemd-binfmt.service",
	"proc-sys-fs-binfmt_misc.automount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount",
	"sys-fs-fuse-connections.mount", "dev-hugepages.mount", "dev-mqueue.mount", "getty.target", "systemd-logind.service",
	"systemd-udevd.service", "systemd-udev-trigger.service", "systemd-networkd.service", "systemd-resolved.service",
	"systemd-timesyncd.service", "systemd-firstboot.service", "systemd-update-utmp.service", "systemd-repart.service",
	"network-online.target", "timers.target", "dbus.socket", "dbus.service",
}

// bootUnits make the target of the boot, which says when it is reached.
var bootUnits = map[string]string{
	"e2e.target":        "[Unit]\nRequires=basic.target e2e-ready.service\nAfter=basic.target\nAllowIsolate=yes\n",
	"e2e-ready.service": "[Unit]\nAfter=basic.target\n[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo up >/run/host/ready'\n",
}

// Boot starts a machine. layer puts what the machine has more than this one below
// the directory that it is given. The machine ends with the test.
func Boot(t testing.TB, layer func(dir string)) *Machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "oj-machine-")
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{dir: dir, log: &syncBuffer{}}
	t.Cleanup(func() { m.end(t) })
	for _, d := range []string{"memory", "root", "host", "layer/etc/systemd/system"} {
		if err := os.MkdirAll(m.path(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	units := m.path("layer/etc/systemd/system")
	for _, u := range masked {
		err = errors.Join(err, os.Symlink("/dev/null", filepath.Join(units, u)))
	}
	for name, text := range bootUnits {
		err = errors.Join(err, os.WriteFile(filepath.Join(units, name), []byte(text), 0o644))
	}
	if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(m.path("layer/etc/fstab"), nil, 0o644),
		os.WriteFile(m.path("layer/etc/machine-id"), nil, 0o644), syscall.Mkfifo(m.path("host/ready"), 0o600)); err != nil {
		t.Fatal(err)
	}
	layer(m.path("layer"))
	m.start(t)
	return m
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *Machine) start(t testing.TB) {
	t.Helper()
	own, err := m.ownCgroup()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	boot, err := filepath.Abs("testdata/boot")
	if err != nil {
		t.Fatal(err)
	}
	m.cmd = exec.Command(boot, m.dir)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:   syscall.SIGKILL, // a test that is killed leaves no machine
		UseCgroupFD: true, CgroupFD: int(own.Fd()),
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up, gone := make(chan struct{}), make(chan struct{})
	go func() {
		os.ReadFile(m.path("host/ready")) // returns when the unit has written and closed it
		close(up)
	}()
	go func() {
		m.cmd.Wait()
		close(gone)
	}()
	m.gone = gone
	select {
	case <-up:
	case <-gone:
		t.Fatalf("systemd ended:\n%s", m.log.String())
	case <-time.After(hang):
		t.Fatalf("systemd does not come up:\n%s", m.log.String())
	}
}

// ownCgroup makes the cgroup that is the machine's root.
func (m *Machine) ownCgroup() (*os.File, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			m.cgroup = filepath.Join(f[1], filepath.Base(m.dir))
			if err := os.Mkdir(m.cgroup, 0o755); err != nil {
				return nil, err
			}
			return os.Open(m.cgroup)
		}
	}
	return nil, errors.New("no cgroup2 is mounted here")
}

// end switches the machine off and removes what it had here.
func (m *Machine) end(t testing.TB) {
	if m.gone != nil {
		m.cmd.Process.Kill() // takes all of its pid namespace along
		<-m.gone
	}
	var groups []string
	filepath.WalkDir(m.cgroup, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			groups = append(groups, path)
		}
		return nil
	})
	for i := len(groups) - 1; i >= 0; i-- {
		if err := os.Remove(groups[i]); err != nil {
			t.Error(err)
		}
	}
	if err := os.RemoveAll(m.dir); err != nil {
		t.Error(err)
	}
}

// Command is a command of root's in the machine, not yet started.
func (m *Machine) Command(ctx context.Context, args ...string) *exec.Cmd {
	pid := strconv.Itoa(m.cmd.Process.Pid)
	return exec.CommandContext(ctx, "nsenter", append([]string{"-t", pid, "-m", "-p", "-n", "-u", "-i", "-C", "-r", "-w", "--",
		"env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}, args...)...)
}

// Run runs a command of root's in the machine.
func (m *Machine) Run(t testing.TB, args ...string) Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	cmd := m.Command(ctx, args...)
	cmd.WaitDelay = hang // for the output, when something stays behind that holds it
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return Output{Stdout: out.String(), Stderr: errs.String(), Exit: cmd.ProcessState.ExitCode()}
}

// Types is what a user gets who types a line into a login shell.
func (m *Machine) Types(t testing.TB, user, line string) Output {
	t.Helper()
	return m.Run(t, "runuser", "-l", user, "-c", line)
}

// Write puts a file into the running machine.
func (m *Machine) Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/root%s", m.cmd.Process.Pid, path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
