package landlock

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// inside names the directory of the test when this program is its own child.
const inside = "LANDLOCK_TEST_DIR"

// attempts are what a walled process tries, and whether it may. Directories of
// the test: ro and rw with a file and a directory each, and out, which no place
// names.
var attempts = []struct {
	what string
	try  func(dir string) error
	want error
}{
	{"read ro", func(d string) error { _, err := os.ReadFile(d + "/ro/file"); return err }, nil},
	{"list ro", func(d string) error { _, err := os.ReadDir(d + "/ro"); return err }, nil},
	{"write ro", func(d string) error { return os.WriteFile(d+"/ro/file", nil, 0o600) }, unix.EACCES},
	{"make in ro", func(d string) error { return os.WriteFile(d+"/ro/new", nil, 0o600) }, unix.EACCES},
	{"remove in ro", func(d string) error { return os.Remove(d + "/ro/file") }, unix.EACCES},
	{"read out", func(d string) error { _, err := os.ReadFile(d + "/out/file"); return err }, unix.EACCES},
	{"list out", func(d string) error { _, err := os.ReadDir(d + "/out"); return err }, unix.EACCES},
	{"execute out", func(d string) error { return exec.Command(d + "/out/true").Run() }, unix.EACCES},
	{"execute ro", func(d string) error { return exec.Command(d + "/ro/true").Run() }, nil},
	{"execute rw, not given", func(d string) error { return exec.Command(d + "/rw/true").Run() }, unix.EACCES},
	{"write rw", func(d string) error { return os.WriteFile(d+"/rw/file", []byte("x"), 0o600) }, nil},
	{"truncate rw", func(d string) error { return os.Truncate(d+"/rw/file", 0) }, nil},
	{"move across directories", func(d string) error { return os.Rename(d+"/rw/file", d+"/rw/dir/file") }, nil},
	{"link across directories", func(d string) error { return os.Link(d+"/rw/dir/file", d+"/rw/link") }, nil},
	{"move out of the wall", func(d string) error { return os.Rename(d+"/rw/link", d+"/out/link") }, unix.EACCES},
	{"move in from outside", func(d string) error { return os.Rename(d+"/out/file", d+"/rw/stolen") }, unix.EACCES},
	{"symbolic link", func(d string) error { return os.Symlink(d+"/out/file", d+"/rw/sym") }, nil},
	{"through it", func(d string) error { _, err := os.ReadFile(d + "/rw/sym"); return err }, unix.EACCES},
	{"fifo", func(d string) error { return unix.Mkfifo(d+"/rw/fifo", 0o600) }, nil},
	{"device node", func(d string) error { return unix.Mknod(d+"/rw/null", unix.S_IFCHR|0o600, 1<<8|3) }, unix.EACCES},
	{"mount", func(d string) error { return unix.Mount("none", d+"/rw/dir", "tmpfs", 0, "") }, unix.EPERM},
	{"abstract socket outside", func(d string) error { _, err := net.Dial("unix", "@"+d); return err }, unix.EPERM},
	{"signal outside", func(string) error { return unix.Kill(os.Getppid(), 0) }, unix.EPERM},
	{"listen", func(string) error { _, err := listenTCP(); return err }, unix.EACCES},
}

// listenTCP makes a plain TCP socket: the library's is of another protocol, which
// Landlock does not know.
func listenTCP() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	return fd, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}

func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	if err := walled(os.Getenv(inside)); err != nil {
		os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
}

func walled(dir string) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	r := Lower(Wall{Files: true, NoListen: true, Places: []child.Place{
		{Path: dir + "/ro", Rights: child.PlaceRead | child.PlaceExecute},
		{Path: dir + "/rw", Rights: child.PlaceRead | child.PlaceChange},
		{Path: dir + "/missing", Rights: child.PlaceRead},
		{Path: "/dev/null", File: true, Rights: child.PlaceRead | child.PlaceUse},
		{Path: "/usr", Rights: child.PlaceRead | child.PlaceExecute},
		{Path: "/lib64", Rights: child.PlaceRead | child.PlaceExecute},
		{Path: "/etc/ld.so.cache", File: true, Rights: child.PlaceRead},
	}}, ABI())
	if err := r.Restrict(); err != nil {
		return err
	}
	var failed []error
	for _, a := range attempts {
		if err := a.try(dir); !errors.Is(err, a.want) {
			failed = append(failed, errors.New(a.what+": "+text(err)+", want "+text(a.want)))
		}
	}
	return errors.Join(failed...)
}

func text(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

// TestAWallRefusesWhatItDoesNotName tries everything for real, as root: what
// stops it is Landlock alone.
func TestAWallRefusesWhatItDoesNotName(t *testing.T) {
	if ABI() < abiScope {
		t.Skipf("needs Landlock ABI %d, this kernel has %d", abiScope, ABI())
	}
	dir := t.TempDir()
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"ro", "rw", "out"} {
		for _, err := range []error{
			os.MkdirAll(filepath.Join(dir, d, "dir"), 0o755),
			os.WriteFile(filepath.Join(dir, d, "file"), []byte("x"), 0o644),
			os.WriteFile(filepath.Join(dir, d, "true"), program, 0o755),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	outside, err := net.Listen("unix", "@"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	self := exec.Command("/proc/self/exe")
	self.Env = []string{inside + "=" + dir}
	if out, err := self.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
