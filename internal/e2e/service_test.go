package e2e

import (
	"context"
	"strings"
	"testing"
)

// installed is a machine on which somebody has typed "make install".
func installed(t *testing.T) *Machine {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	m := Boot(t, func(layer string) {
		AddLab(t, layer)
		tool(t, nil, "mkdir", layer+sources)
		tool(t, nil, "cp", "-rT", bin, layer+sources+"/bin")
		tool(t, nil, "cp", "-r", "../../packaging", "../../cmd", layer+sources) // the manuals are beside the programs
	})
	m.Run(t, sources+"/packaging/install", sources+"/bin", "").Want(t, 0)
	return m
}

// sources is where an installed machine has what it was installed from.
const sources = "/opt"

// configure sends GitHub's names to the machine's lab.
func (m *Machine) configure(t *testing.T) {
	t.Helper()
	m.Write(t, "/etc/omnijail/lab.pem", m.lab.CA)
	m.Write(t, "/etc/omnijail/omnijaild.yaml", m.lab.Config("/etc/omnijail/lab.pem"))
}

// addPerson makes a user of the group, with a directory to work in.
func (m *Machine) addPerson(t *testing.T, name string) {
	t.Helper()
	m.Run(t, "useradd", "--create-home", "--shell", "/bin/bash", name).Want(t, 0)
	m.Run(t, "usermod", "-aG", "omnijail", name).Want(t, 0)
	m.Types(t, name, "mkdir project").Want(t, 0)
}

// logIn does what "gh auth login" leaves behind.
func (m *Machine) logIn(t *testing.T, name string) {
	t.Helper()
	m.Types(t, name, "umask 077; mkdir -p .config/gh; cat >.config/gh/hosts.yml <<.\n"+
		"github.com:\n    user: octocat\n    oauth_token: "+Token+"\n    git_protocol: https\n.\n").Want(t, 0)
}

const mainJob = "cd project && omnijailctl exec -- gh api user"

// served is an installed machine with the lab as its upstream and alice as a
// person of the group.
func served(t *testing.T) *Machine {
	t.Helper()
	m := installed(t)
	m.lab = m.StartLab(t)
	m.configure(t)
	m.addPerson(t, "alice")
	return m
}

// wantMainJob runs the main job as alice.
func (m *Machine) wantMainJob(t *testing.T) {
	t.Helper()
	if o := m.Types(t, "alice", mainJob); o.Exit != 0 || !strings.Contains(o.Stdout, `"login":"octocat"`) {
		t.Fatalf("%+v\n%s", o, m.journal(t))
	}
	seen := m.lab.Seen(t)
	if len(seen) == 0 || !seen[len(seen)-1].Authorized {
		t.Errorf("the upstream saw %+v", seen)
	}
}

// journal is what the daemon logged, for a failure's message.
func (m *Machine) journal(t *testing.T) string {
	t.Helper()
	return m.Run(t, "journalctl", "--no-pager", "-u", "omnijaild").Stdout
}

// mainPID is the daemon's in the machine, "0" when it does not run.
func (m *Machine) mainPID(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(m.Run(t, "systemctl", "show", "-P", "MainPID", "omnijaild.service").Want(t, 0).Stdout)
}

func TestService(t *testing.T) {
	m := served(t)

	t.Run("before gh auth login", func(t *testing.T) {
		o := m.Types(t, "alice", mainJob)
		if o.Exit == 0 || !strings.Contains(o.Stderr, `gh found no GitHub login: policy "default" takes it from GH_TOKEN or "gh auth token", and neither gave one`) ||
			!strings.Contains(o.Stderr, "gh auth login (outside the jail; the token stays outside)") {
			t.Errorf("%+v\n%s", o, m.journal(t))
		}
	})
	m.logIn(t, "alice")
	t.Run("the main job", m.wantMainJob)
	t.Run("the main job right after logging in", func(t *testing.T) {
		if o := m.Types(t, "alice", "omnijailctl exec -- gh api user").Want(t, 0); !strings.Contains(o.Stdout, `"login":"octocat"`) {
			t.Errorf("%+v", o)
		}
		if o := m.Types(t, "alice", "omnijailctl exec -- ls -A").Want(t, 0); strings.Contains(o.Stdout, "project") || strings.Contains(o.Stdout, ".config") {
			t.Errorf("of the home directory a jail sees %q", o.Stdout)
		}
		if o := m.Types(t, "alice", "omnijailctl exec -- cat project/file").Want(t, 1); !strings.Contains(o.Stderr, "your home directory is not in the jail") {
			t.Errorf("%+v", o)
		}
	})
	t.Run("the unit gives no mounts of its own", func(t *testing.T) {
		at := func(pid string) string { return m.Run(t, "readlink", "/proc/"+pid+"/ns/mnt").Want(t, 0).Stdout }
		if own, first := at(m.mainPID(t)), at("1"); own != first {
			t.Errorf("omnijaild is in %s, process 1 in %s", own, first)
		}
		m.Types(t, "alice", "mkdir /tmp/w && cd /tmp/w && omnijailctl exec --write . -- touch made && stat -c %U /tmp/w/made").Want(t, 0)
	})
	t.Run("the units hold", func(t *testing.T) {
		if o := m.Run(t, "systemd-analyze", "verify", "--man=no", "omnijaild.service", "omnijaild.socket"); strings.Contains(o.Stderr, "omnijaild") {
			t.Errorf("systemd-analyze verify: %s", o.Stderr)
		}
	})
	t.Run("restart", func(t *testing.T) {
		before := m.mainPID(t)
		m.Run(t, "systemctl", "restart", "omnijaild.service").Want(t, 0)
		if m.mainPID(t) == before {
			t.Error("the same process")
		}
		m.wantMainJob(t)
	})
	t.Run("reload", func(t *testing.T) {
		before := m.mainPID(t)
		m.Run(t, "systemctl", "reload", "omnijaild.service").Want(t, 0)
		if m.mainPID(t) != before {
			t.Error("another process")
		}
		m.wantMainJob(t)
	})
	t.Run("killed", func(t *testing.T) {
		before := m.mainPID(t)
		ended := m.runs(t, "cd project && omnijailctl exec -- sh -c 'echo up; exec sleep 600'")
		m.Run(t, "systemctl", "kill", "-s", "KILL", "--kill-whom=main", "omnijaild.service").Want(t, 0)
		if o := ended(); o.Exit != 125 {
			t.Errorf("the client of a killed daemon: %+v", o)
		}
		m.wantMainJob(t)
		if m.mainPID(t) == before {
			t.Error("the same process")
		}
		if o := m.Run(t, "pgrep", "-fx", "sleep 600"); o.Exit != 1 {
			t.Errorf("the jail outlived its daemon: %s", o.Stdout)
		}
	})
	t.Run("stop", func(t *testing.T) {
		m.Run(t, "systemctl", "stop", "omnijaild.service").Want(t, 0)
		m.wantNothing(t, "/run/omnijail/omnijaild.sock\n")
		m.wantMainJob(t) // the socket starts it again
		m.Run(t, "systemctl", "disable", "--now", "omnijaild.socket", "omnijaild.service").Want(t, 0)
		m.wantNothing(t, "")
		if o := m.Types(t, "alice", mainJob).Want(t, 125); !strings.Contains(o.Stderr, "sudo systemctl enable --now omnijaild.socket") {
			t.Errorf("without a service: %s", o.Stderr)
		}
		m.Run(t, "systemctl", "enable", "--now", "omnijaild.socket").Want(t, 0)
		m.wantMainJob(t)
	})
	t.Run("uninstall", func(t *testing.T) {
		m.Run(t, sources+"/packaging/install", "--remove", "").Want(t, 0)
		m.wantNothing(t, "")
		if o := m.Run(t, "systemctl", "status", "omnijaild.socket"); o.Exit != 4 { // no such unit
			t.Errorf("systemctl status: exit %d\n%s", o.Exit, o.Stdout)
		}
	})
}

// wantNothing finds nothing of a daemon that has stopped but what may be left in
// its run directory.
func (m *Machine) wantNothing(t *testing.T, run string) {
	t.Helper()
	if o := m.Run(t, "pgrep", "-a", "omnijail|bwrap"); o.Exit != 1 {
		t.Errorf("processes: %s", o.Stdout)
	}
	if o := m.Run(t, "find", "/sys/fs/cgroup", "-name", "omnijail*", "!", "-name", "omnijaild.socket").Want(t, 0); o.Stdout != "" {
		t.Errorf("cgroups: %s", o.Stdout)
	}
	if o := m.Run(t, "find", "/run/omnijail", "-mindepth", "1").Want(t, 0); o.Stdout != run {
		t.Errorf("in the run directory: %s", o.Stdout)
	}
}

// runs starts a line of alice's that prints "up" once it runs, and returns how to
// wait for its end.
func (m *Machine) runs(t *testing.T, line string) (ended func() Output) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	cmd := m.Command(ctx, "runuser", "-l", "alice", "-c", line)
	out := &syncBuffer{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, hang
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		cmd.Wait()
		close(gone)
	}()
	if !out.waitFor("up\n", gone) {
		t.Fatalf("it does not run: %s", out.String())
	}
	return func() Output {
		<-gone
		return Output{Stdout: out.String(), Exit: cmd.ProcessState.ExitCode()}
	}
}
