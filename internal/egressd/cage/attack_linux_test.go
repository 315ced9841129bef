package cage

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

// TestS13_TakenOverEgressReachesNothing runs an attacker in place of the egress
// process. A refusal must come from the kernel; the words are its errors.
func TestS13_TakenOverEgressReachesNothing(t *testing.T) {
	targets := outside(t)
	got := attack(t, targets, (*exec.Cmd).Start)
	for name, want := range expected {
		if !strings.Contains(" "+want+" ", " "+got[name]+" ") && got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	for name, what := range got {
		if what != "EPERM" && what != "ENOSYS" {
			t.Errorf("%s: got %q, want a refusal", name, what)
		}
	}
	if _, err := os.Stat("/etc/x"); err == nil {
		t.Error("a file was made in the node's /etc")
	}
}

// attack starts the attacker and returns what came of each try.
func attack(t *testing.T, targets attackTargets, run func(*exec.Cmd) error) map[string]string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, daemon := start(t, build(t, "attack"), func(c *exec.Cmd) error {
		c.Stdout, c.Stderr = w, w
		return run(c)
	})
	w.Close()
	order, _ := json.Marshal(targets)
	if _, err := daemon.Write(order); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}

// expected is what each try must come to; several words are alternatives. A try
// that is not here must be refused by the filter.
var expected = map[string]string{
	"descriptors": "3:140000", "uids": "64790 64790 64790", "gids": "64791 64791 64791", "groups": "[]",
	"caps": "true", "bounding": "0", "nnp": "1", "pid": "1", "environment": "GOTRACEBACK=none", "core": "1 1",
	"filter": "ok",

	"cage read /etc/hosts":     "ok", // controls: the tries themselves work
	"cage tcp":                 "ok",
	"filter read /etc/hosts":   "ok",
	"filter tcp":               "ok",
	"cage read /etc/shadow":    "EACCES",
	"cage list /root":          "ENOENT EACCES",
	"cage list /home":          "ENOENT EACCES",
	"cage list /proc":          "ENOENT EACCES",
	"cage list /usr":           "ENOENT EACCES",
	"cage list old root":       "ENOENT EACCES",
	"cage create /etc/x":       "EACCES EROFS",
	"cage create /x":           "EACCES EROFS",
	"cage write /etc/hosts":    "EACCES EROFS",
	"cage truncate /etc/hosts": "EACCES EROFS",
	"cage socket path":         "ENOENT",
	"cage abstract socket":     "EPERM",
	"cage become root":         "EPERM",
	"cage signal outside":      "ESRCH",
	"cage mount":               "EPERM EACCES",
	"cage bind a port":         "EACCES",
	"root":                     "[]", // Landlock: not even what is there may be listed

	"filter read /etc/shadow": "EACCES",
	"filter list /root":       "ENOENT EACCES",
	"filter list /home":       "ENOENT EACCES",
	"filter list /proc":       "ENOENT EACCES",
	"filter list /usr":        "ENOENT EACCES",
	"filter list old root":    "ENOENT EACCES",
	"filter bind a port":      "EACCES EPERM",
}

type attackTargets struct {
	Path, Abstract, TCP string
	Fenced              []string // addresses and ports that a fence is to close
}

// outside listens on what stands for the control socket, docker.sock and the
// world, and shows that all three can be reached from here.
func outside(t *testing.T) attackTargets {
	t.Helper()
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	path := filepath.Join(dir, "control.sock")
	targets := attackTargets{Path: path, Abstract: fmt.Sprintf("@omnijail-test-%d-%s", os.Getpid(), t.Name())}
	listen(t, "unix", path)
	os.Chmod(path, 0o666)
	listen(t, "unix", targets.Abstract)
	targets.TCP = listen(t, "tcp", "127.0.0.1:0")
	return targets
}

// listen serves connections by closing them, and shows that one can be had.
func listen(t *testing.T, network, addr string) string {
	t.Helper()
	at := lab.Serve(t, network, addr, func(net.Conn) {}).String()
	c, err := net.Dial(network, at)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	return at
}
