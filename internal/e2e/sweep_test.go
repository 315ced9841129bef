package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// second tries to start a daemon with n's configuration and returns its words.
func (n *Node) second(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(n.Bin, "omnijaild"), append([]string{"--config", n.confPath}, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestS28_OneDaemonPerRunDirectory: a second daemon and cleanup are refused while
// the first lives, and change nothing of it; its command runs on.
func TestS28_OneDaemonPerRunDirectory(t *testing.T) {
	t.Parallel()
	s := newScene(t, killNode(t), 3401)
	s.start(t)
	s.run.says(t, "up")
	before := s.n.runDir(t)
	for name, try := range map[string]func() (string, error){
		"a second daemon":                   func() (string, error) { return s.n.second() },
		"a second daemon, another socket":   func() (string, error) { return s.n.second("--socket", s.n.Dir+"/other") },
		"cleanup":                           func() (string, error) { return s.n.cleanup() },
		"cleanup that only looks":           func() (string, error) { return s.n.cleanup("--dry-run") },
		"cleanup by another way to the dir": func() (string, error) { return s.n.cleanup("--run-dir", s.n.Dir+"/./policies/../run") },
	} {
		if out, err := try(); err == nil || !strings.Contains(out, "another omnijaild uses") {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}
	same(t, "the run directory", before, s.n.runDir(t))
	s.run.tell(t, "echo still here")
	s.run.says(t, "still here")
	s.run.stdin.Close()
	s.run.finish(t).Want(t, 0)
	s.n.Run(t, s.ctl("true")).Want(t, 0)
}

// TestS28_CleanupTouchesNothingForeign cleans up after a killed daemon while
// another one on the node runs commands.
func TestS28_CleanupTouchesNothingForeign(t *testing.T) {
	t.Parallel()
	const execs = 100
	live, dead := killNode(t), killNode(t)
	s := newScene(t, live, 3402)
	s.start(t)
	s.run.says(t, "up")
	d := newScene(t, dead, 3403)
	d.start(t)
	d.run.says(t, "up")
	// Names as a daemon of ours would make them, but in nobody's instance.
	foreign := filepath.Join(filepath.Dir(live.groups(t)), "omnijailed-"+filepath.Base(live.Dir))
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(foreign) })
	dead.Kill(t)

	results := make(chan Output, execs)
	for range 4 {
		go func() {
			for range execs / 4 {
				results <- live.Run(t, s.ctl("true"))
			}
		}()
	}
	for i := range execs {
		(<-results).Want(t, 0)
		if i%5 != 0 {
			continue
		}
		if out, err := dead.cleanup(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	none(t, "cgroups of the dead daemon", dead.groupsLeft(t))
	d.gone(t)
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
	s.run.tell(t, "echo still here")
	s.run.says(t, "still here")
}

// TestS28_CleanupBelievesNoName: what lies about in the run directory leads
// cleanup nowhere.
func TestS28_CleanupBelievesNoName(t *testing.T) {
	t.Parallel()
	n := killNode(t)
	bystander := exec.Command("sleep", "1000")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		bystander.Process.Kill()
		bystander.Wait()
	})
	keep := n.write(t, "keep", "kept")
	n.Kill(t)
	for name, text := range map[string]string{
		"jails":        `{"id":"../../keep","pid":` + strconv.Itoa(bystander.Process.Pid) + `,"cgroup":"/"}`,
		"journal.json": `[{"id":"../keep","instance":"` + instance("/run/omnijail") + `"}]`,
		"pid":          strconv.Itoa(bystander.Process.Pid),
	} {
		if err := os.WriteFile(filepath.Join(n.Dir, "run", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(n.Dir, n.Dir+"/run/link"); err != nil {
		t.Fatal(err)
	}
	if out, err := n.cleanup(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
	if dead(bystander.Process.Pid) {
		t.Error("cleanup killed a process that a file named")
	}
	none(t, "cgroups", n.groupsLeft(t))
}
