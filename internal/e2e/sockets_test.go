package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// daemonOf runs a program of alice's outside of every jail until the test ends, and
// waits until it has made its socket.
func daemonOf(t *testing.T, n *Node, dir, socket string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + n.Home(t, Alice), "SHELL=/bin/sh", "TERM=dumb"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Alice, Gid: Alice}, Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	until(t, argv[0]+" listens on "+socket, func() bool {
		c, err := net.Dial("unix", filepath.Join(dir, socket))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

const listener = `import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(600)`

const connect = `import errno, os, socket, sys
for name in sys.argv[1:]:
    try:
        if name.endswith(".fifo"):
            os.open(name, os.O_RDWR | os.O_NONBLOCK)
        else:
            socket.socket(socket.AF_UNIX).connect(name)
        print("reached", name)
    except OSError as e:
        print(errno.errorcode[e.errno], name)
sys.exit(1)`

// daemonsInWorkspace are real programs of alice's that listen in her workspace.
func daemonsInWorkspace(t *testing.T, n *Node) (dir string, sockets []string) {
	t.Helper()
	dir = n.Workspace(t, Alice, map[string]string{".git/HEAD": "", "gnupg/x": "", "node_modules/nx/cache/x": "", "pg/x": ""})
	if err := os.Chmod(dir+"/gnupg", 0o700); err != nil {
		t.Fatal(err)
	}
	// The real one wants its user to be in a database.
	bus := filepath.Join(n.Home(t, Alice), "dbus-daemon")
	python, err := os.ReadFile("/usr/bin/python3")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bus, python, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range [][]string{
		{"agent.sock", "/usr/bin/ssh-agent", "-D", "-a", "agent.sock"},
		{"gnupg/S.gpg-agent", "/usr/bin/gpg-agent", "--homedir", dir + "/gnupg", "--daemon", "--no-detach"},
		{"mux", "/usr/bin/tmux", "-S", "mux", "-f", "/dev/null", "-D"},
		{"bus", bus, "-c", listener, "bus"},
		{".git/fsmonitor--daemon.ipc", "/usr/bin/python3", "-c", listener, ".git/fsmonitor--daemon.ipc"},
		{"node_modules/nx/cache/d.sock", "/usr/bin/python3", "-c", listener, "node_modules/nx/cache/d.sock"},
		{"pg/.s.PGSQL.5432", "/usr/bin/python3", "-c", listener, dir + "/pg/.s.PGSQL.5432"},
	} {
		daemonOf(t, n, dir, d[0], d[1:]...)
		sockets = append(sockets, d[0])
	}
	if err := syscall.Mkfifo(dir+"/log.fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chown(dir+"/log.fifo", Alice, Alice)
	return dir, append(sockets, "log.fifo")
}

func TestS23_DaemonsThatListenInTheWorkspace(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir, sockets := daemonsInWorkspace(t, n)
	args := append([]string{"python3", "-c", connect}, sockets...)
	free := exec.Command("/usr/bin/python3", args[1:]...)
	free.Dir = dir
	free.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Alice, Gid: Alice}}
	if out, _ := free.Output(); strings.Count(string(out), "reached") != len(sockets) {
		t.Fatalf("outside not everything is reached:\n%s", out)
	}
	for _, flags := range [][]string{{}, {"--write", "."}, {"--backend", alone, "--write", "."}} {
		o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: slices.Concat([]string{"exec"}, flags, []string{"--"}, args)}).Want(t, 1)
		if strings.Contains(o.Stdout, "reached") || strings.Count(o.Stdout, "\n") != len(sockets) {
			t.Errorf("%v:\n%s", flags, o.Stdout)
		}
		if !strings.Contains(o.Stderr, "are hidden in the jail: ") || !strings.Contains(o.Stderr, "unix_sockets: [") {
			t.Errorf("%v: the refusal is not said:\n%s", flags, o.Stderr)
		}
	}
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"events", "--denied", "--json"}}).Want(t, 0)
	var denied audit.Record
	if err := json.Unmarshal([]byte(strings.SplitN(o.Stdout, "\n", 2)[0]), &denied); err != nil {
		t.Fatalf("%v\n%s", err, o.Stdout)
	}
	why := n.Run(t, Ctl{UID: Alice, Args: []string{"why", denied.ID}}).Want(t, 0)
	if !strings.Contains(why.Stdout, "unix_sockets: [") || !strings.Contains(why.Stdout, dir) {
		t.Errorf("why does not name the line:\n%s", why.Stdout)
	}
}

func TestS23_NamedSockets(t *testing.T) {
	access := func(weaken ...string) map[string]any {
		return map[string]any{"access": []any{map[string]any{"groups": []string{strconv.Itoa(socketGID)}, "policies": []string{"own", "*"}, "weaken": weaken}}}
	}
	n := NewNode(t, Options{NoLab: true, Config: access("control_sockets", "unix_sockets"), Bubblewrap: true})
	dir, sockets := daemonsInWorkspace(t, n)
	elsewhere := n.Workspace(t, Alice, nil)
	daemonOf(t, n, elsewhere, "s", "/usr/bin/python3", "-c", listener, "s")
	run := func(policy string) Output {
		t.Helper()
		file := n.write(t, "p.yaml", policy)
		args := append([]string{"exec", "--policy", file, "--", "python3", "-c", connect, elsewhere + "/s"}, sockets...)
		return n.Run(t, Ctl{UID: Alice, Dir: dir, Args: args})
	}
	named := fmt.Sprintf("unix_sockets: [%s/pg/.s.PGSQL.5432, %s/log.fifo, %s/s]\n", dir, dir, elsewhere)
	reached := func(o Output) (out []string) {
		for line := range strings.Lines(o.Stdout) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "reached "); ok {
				out = append(out, strings.TrimPrefix(name, elsewhere))
			}
		}
		slices.Sort(out)
		return out
	}
	want := []string{"/s", "log.fifo", "pg/.s.PGSQL.5432"}
	for _, policy := range []string{named, named + "write_paths: [" + dir + "]\n", named + "backend: [linux_landlock, linux_bwrap]\n", named + "backend: linux_landlock\nweaken: [unix_sockets]\n"} {
		if o := run(policy); !slices.Equal(reached(o), want) {
			t.Errorf("%s\nreached %v, want %v\n%s", policy, reached(o), want, o.Stderr)
		}
	}
	run(named+"backend: linux_landlock\n").wantRefused(t, "linux_landlock cannot keep unix_sockets", "p.yaml:1", "weaken: [unix_sockets]")
	for _, control := range []string{"agent.sock", "gnupg/S.gpg-agent", "mux", "bus"} {
		line := fmt.Sprintf("unix_sockets: [%s/%s]\n", dir, control)
		run(line).wantRefused(t, control, "p.yaml:1", "commands a program outside", "weaken: [control_sockets]")
		if o := run(line + "weaken: [control_sockets]\n"); !slices.Equal(reached(o), []string{control}) {
			t.Errorf("%s with the weakening: reached %v\n%s", control, reached(o), o.Stderr)
		}
	}
	t.Run("weakenings are the operator's to grant", func(t *testing.T) {
		n := NewNode(t, Options{NoLab: true})
		for _, w := range []string{"control_sockets", "unix_sockets"} {
			file := n.write(t, w+".yaml", "weaken: ["+w+"]\n")
			n.Exec(t, "--policy", file, "--", "true").wantRefused(t, w)
		}
	})
}
