package selftest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

const controlRole = "SELFTEST_ROLE"

// TestMain lets this binary be, besides the tests, the process that makes every
// attempt without a jail, and a stand-in for omnijailctl whose exec confines
// nothing.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "exec" || os.Args[1] == "probe") {
		if err := standIn(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	if os.Getenv(controlRole) != "" {
		if err := control(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// standIn does what omnijailctl does, without a jail.
func standIn(args []string) error {
	if args[0] == "probe" && args[1] == "--linger" {
		return Linger(args[2])
	}
	if args[0] == "probe" {
		var site Site
		if err := json.Unmarshal([]byte(args[2]), &site); err != nil {
			return err
		}
		return Probe(site, args[3:], os.Stdout)
	}
	for i, a := range args {
		switch a {
		case "--tty":
			if _, err := unix.Setsid(); err != nil {
				return err
			}
			if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
				return err
			}
		case "--":
			path, err := exec.LookPath(args[i+1])
			if err != nil {
				return err
			}
			return syscall.Exec(path, args[i+1:], append(os.Environ(), tokenEnv+"="+os.Getenv(tokenSource)))
		}
	}
	return fmt.Errorf("no command in %q", args)
}

// control makes every attempt as root in namespaces of its own.
func control(w io.Writer) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	patience, width = 400*time.Millisecond, 1
	home, err := os.MkdirTemp("", "control-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	os.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, "entry"), nil, 0o600); err != nil {
		return err
	}
	daemon, err := net.Listen("unix", filepath.Join(home, "daemon"))
	if err != nil {
		return err
	}
	defer daemon.Close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	n, err := plant(context.Background(), Config{Program: program, Socket: daemon.Addr().String(), write: true})
	defer n.raze()
	if err != nil {
		return err
	}
	if n.site.Via, n.site.Resolver, err = yesSayers(); err != nil {
		return err
	}
	n.site.Upstream = "upstream.test"
	n.give = func(f *os.File) error {
		cmd := exec.Command("true")
		cmd.Stdin = f
		return cmd.Run()
	}
	master, slave, err := pty.Open() // another terminal of the node's, to be found
	if err != nil {
		return err
	}
	defer master.Close()
	defer slave.Close()
	if err := os.WriteFile(filepath.Join(n.work, "token"), []byte("token: "+n.secret), 0o600); err != nil {
		return err
	}
	return n.run().WriteJSON(w)
}

// Without a jail every attempt succeeds. One that did not would prove nothing by
// being refused in a jail.
func TestEveryAttemptSucceedsWithoutAJail(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the control is for root")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), controlRole+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS |
			unix.CLONE_NEWCGROUP,
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var report Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	controlled := 0
	for i, a := range All() {
		f := report.Attempts[i].Finding
		switch {
		case f.Result == Succeeded:
			controlled++
		case a.NoControl != "":
			t.Logf("no control of %s: %s (here: %s)", a.Name, a.NoControl, f.Detail)
		case f.Result == NotRun && a.needs != "", strings.Contains(f.Detail, unix.ENOSYS.Error()):
			t.Logf("no control of %s here: %s", a.Name, f.Detail)
		default:
			t.Errorf("%s without a jail: %s: %s", a.Name, f.Result, f.Detail)
		}
	}
	t.Logf("%d of %d attempts succeed without a jail", controlled, len(report.Attempts))
	if controlled < 500 {
		t.Errorf("only %d attempts have a control", controlled)
	}
}
