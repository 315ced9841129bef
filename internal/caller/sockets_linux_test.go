package caller

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// listen makes a socket of someone's that this program listens on.
func listen(t testing.TB, p string) string {
	t.Helper()
	l, err := net.Listen("unix", p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	own(t, p)
	return p
}

func fifo(t testing.TB, p string) string {
	t.Helper()
	if err := unix.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
	own(t, p)
	return p
}

func TestS23_SocketsAndFIFOsAreHiddenAtAnyDepth(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	mkdir(t, w, "a/b/c/d/e")
	mkdir(t, w, "in")
	mkdir(t, dir, "ro/x")
	mkdir(t, w, ".hidden")
	want := []string{
		listen(t, w+"/s"), listen(t, w+"/a/b/c/d/e/s"), fifo(t, w+"/a/f"), listen(t, dir+"/ro/x/s"), listen(t, w+"/in/s"),
	}
	listen(t, w+"/.hidden/s") // by the entry above it
	symlink(t, w+"/s", w+"/link")
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/ro"}, jail.Grant{Path: w + "/in"})
	o := mustOpen(t, r)
	var hidden []string
	for _, g := range o.Reply.Grants {
		for _, n := range g.Masked {
			hidden = append(hidden, filepath.Join(g.Path, n.Name))
		}
		if g.Path == w && !slices.Contains(names(g.Held), "a/b/c/d/e") {
			t.Errorf("a directory above a hidden socket could be renamed: held %v", names(g.Held))
		}
	}
	slices.Sort(want)
	doors := slices.Sorted(slices.Values(o.Reply.Doors))
	if !slices.Equal(doors, want) {
		t.Errorf("said to be hidden: %v, want %v", doors, want)
	}
	want = append(want, w+"/.hidden")
	slices.Sort(want)
	slices.Sort(hidden)
	if !slices.Equal(hidden, want) {
		t.Errorf("hidden: %v, want %v", hidden, want)
	}
}

// Where nothing is written, what is not seen can only be connected to: that is
// noted. Where something is, it could be made to be.
func TestS23_ATreeTooLargeToLookThrough(t *testing.T) {
	dir := playground(t)
	for _, n := range strings.Fields("1 2 3 4 5 6 7 8") {
		write(t, dir, "ro/d/"+n, 0o644, "")
	}
	r := request(dir)
	r.View.ScanMax = 8
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/ro"})
	_, err := open(t, Options{Request: r})
	refused(t, err, "protect_scan", dir+"/ro has more than 8 entries", "protect_scan: {max: 32}")
	r.View.Grants[0].Write = false
	if notes := mustOpen(t, r).Reply.Notes; len(notes) != 1 || !strings.Contains(notes[0], "Unix sockets further down are visible") {
		t.Errorf("notes: %q", notes)
	}
	r.View.Grants[0].Write, r.View.ScanMax = true, 9
	mustOpen(t, r)
}

// A directory that its owner could make listable again holds unseen names too.
func TestS23_DirectoriesThatCannotBeListed(t *testing.T) {
	dir := playground(t)
	mkdir(t, dir, "ro/closed")
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/ro"})
	for mode, closed := range map[os.FileMode]bool{0: true, 0o100: true, 0o500: false} {
		if err := os.Chmod(dir+"/ro/closed", mode); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, Options{Request: r}); closed {
			refused(t, err, "protect_scan", "ro/closed cannot be looked through")
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestS23_NamedSocketsStay(t *testing.T) {
	dir := playground(t)
	mkdir(t, dir, "w/run")
	s := dir + "/w/run/s"
	asSomeone(t, dir, "/usr/bin/python3", "-c", listener, s)
	f := fifo(t, dir+"/w/run/f")
	listen(t, dir+"/w/run/other")
	r := request(dir)
	for _, p := range []string{s, f, dir + "/w/run/absent"} {
		r.View.Grants = append(r.View.Grants, jail.Grant{Path: p, Socket: true, Missing: true})
	}
	o := mustOpen(t, r)
	if len(o.Reply.Grants) != 3 || !slices.Equal(o.Reply.Doors, []string{dir + "/w/run/other"}) {
		t.Errorf("%d grants, hidden %v", len(o.Reply.Grants), o.Reply.Doors)
	}
	for _, g := range o.Reply.Grants {
		if g.Dir == (g.Path == s || g.Path == f) || g.Write != (g.Path == dir+"/w") {
			t.Errorf("grant %+v", g)
		}
	}
	r.View.Grants = r.View.Grants[:1]
	for p, want := range map[string]string{s: "a door to a program outside", dir + "/w/run": ""} {
		r.View.Grants = append(r.View.Grants[:1], jail.Grant{Path: p, Socket: want == ""})
		_, err := open(t, Options{Request: r})
		refused(t, err, "grant", want)
	}
	// A link that a command left in its place does not lead elsewhere.
	symlink(t, fifo(t, dir+"/bus"), dir+"/w/run/link")
	r.View.Grants = append(r.View.Grants[:1], jail.Grant{Path: dir + "/w/run/link", Socket: true})
	_, err := open(t, Options{Request: r})
	refused(t, err, "grant", "leads out of")
}

// asSomeone runs a program as the caller until the test ends.
func asSomeone(t *testing.T, ready string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Dir(ready)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: someone, Gid: someone}, Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	out.Read(make([]byte, 1)) // it has said something: it listens
}

const listener = `import ctypes, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
if len(sys.argv) > 2: ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
print("ready", flush=True); time.sleep(600)`

func TestS23_SocketsThatCommandAProgramOutside(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	home := dir + "/home"
	// By the file: what is bound to another name is still that file.
	mkdir(t, home, ".gnupg")
	listen(t, home+"/.gnupg/S.gpg-agent")
	write(t, w, "gpg", 0o600, "")
	if err := unix.Mount(home+"/.gnupg/S.gpg-agent", w+"/gpg", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(w+"/gpg", unix.MNT_DETACH) })
	listen(t, w+"/ours")
	// By the program that listens.
	program, err := os.ReadFile("/usr/bin/python3")
	if err != nil {
		t.Fatal(err)
	}
	mkdir(t, dir, "bin")
	if err := os.WriteFile(dir+"/bin/tmux", program, 0o755); err != nil {
		t.Fatal(err)
	}
	asSomeone(t, w, dir+"/bin/tmux", "-c", listener, w+"/mux")
	asSomeone(t, w, "/usr/bin/python3", "-c", listener, w+"/plain")
	asSomeone(t, w, "/usr/bin/python3", "-c", listener, w+"/hiding", "hide")
	asSomeone(t, w, "/usr/bin/ssh-agent", "-D", "-a", w+"/agent")
	r := request(dir)
	for name, want := range map[string]string{
		"gpg": "gpg-agent", "ours": "omnijail", "mux": "tmux", "hiding": "hides itself", "agent": "(", "plain": "",
	} {
		r.View.Grants = append(r.View.Grants[:1], jail.Grant{Path: w + "/" + name, Socket: true, Origin: "policy.yaml:3:4"})
		o := Options{Request: r, Listeners: []string{w + "/ours"}}
		_, err := open(t, o)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		refused(t, err, "control_socket", w+"/"+name+" (policy.yaml:3:4)", want, "weaken: [control_sockets]")
		o.Request.View.ControlSockets = true
		if _, err := open(t, o); err != nil {
			t.Errorf("%s with the weakening: %v", name, err)
		}
	}
}
