package child

import (
	"bytes"
	"reflect"
	"syscall"
	"testing"
)

func sample() *Launch {
	return &Launch{
		Exec: "/usr/bin/env", Argv: [][]byte{[]byte("env"), {0xff, 0xfe}, {}},
		Env: [][]byte{[]byte("A=b"), []byte("EMPTY=")}, Cwd: "/home/u/ws",
		UID: 1000, GID: 1001, Groups: []uint32{44, 1002}, TTY: true,
		Wall: WallFiles, NoUnix: true, Places: []Place{{"/usr", false, PlaceRead | PlaceExecute}, {"/home/u/f", true, PlaceChange}},
		Stdio: [3]int{1, -1, 4}, Limits: []Rlimit{{7, 64, 128}}, Processors: []uint32{0, 3},
	}
}

func TestLaunchRoundTrip(t *testing.T) {
	b, err := EncodeLaunch(sample())
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeLaunch(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, sample()) {
		t.Errorf("got %+v", got)
	}
	for n := range b {
		if l, err := DecodeLaunch(b[:n]); err == nil {
			t.Fatalf("a record cut at %d of %d decoded: %+v", n, len(b), l)
		}
	}
	if _, err := DecodeLaunch(append(b, 0)); err == nil {
		t.Error("a trailing byte was accepted")
	}
}

func TestS04_LaunchNeverRoot(t *testing.T) {
	for name, spoil := range map[string]func(*Launch){
		"uid 0":         func(l *Launch) { l.UID = 0 },
		"gid 0":         func(l *Launch) { l.GID = 0 },
		"group 0":       func(l *Launch) { l.Groups = []uint32{5, 0} },
		"relative exec": func(l *Launch) { l.Exec = "bin/sh" },
		"relative cwd":  func(l *Launch) { l.Cwd = "." },
		"no argv":       func(l *Launch) { l.Argv = nil },
		"NUL":           func(l *Launch) { l.Argv = [][]byte{[]byte("a\x00b")} },
		"nameless":      func(l *Launch) { l.Env = [][]byte{[]byte("=x")} },
		"the record":    func(l *Launch) { l.Stdio[0] = 0 },
		"no such file":  func(l *Launch) { l.Stdio[2] = MaxFiles + 1 },
		"no observer":   func(l *Launch) { l.Observer = -1 },
		"no such wall":  func(l *Launch) { l.Wall = WallNone + 1 },
		"no place":      func(l *Launch) { l.Places[0].Path = "usr" },
		"no right":      func(l *Launch) { l.Places[0].Rights = 0 },
		"unknown right": func(l *Launch) { l.Places[0].Rights = 1 << 7 },
	} {
		l := sample()
		spoil(l)
		if _, err := EncodeLaunch(l); err == nil {
			t.Errorf("%s was encoded", name)
		}
	}
	// The same byte forged on the wire: uid and gid follow the two lists.
	b, _ := EncodeLaunch(sample())
	forged := bytes.Replace(b, []byte{0, 0, 3, 0xe8, 0, 0, 3, 0xe9}, []byte{0, 0, 0, 0, 0, 0, 3, 0xe9}, 1)
	if bytes.Equal(b, forged) {
		t.Fatal("the forgery changed nothing")
	}
	if _, err := DecodeLaunch(forged); err == nil {
		t.Error("a forged uid 0 decoded")
	}
}

func TestStartErrorExit(t *testing.T) {
	for _, c := range []struct {
		step Step
		no   syscall.Errno
		want int
	}{
		{StepExec, syscall.ENOENT, 127}, {StepExec, syscall.EACCES, 126}, {StepExec, syscall.ENOEXEC, 126},
		{StepExec, syscall.ENOMEM, 125}, {StepChdir, syscall.ENOENT, 125}, {StepFilter, syscall.EACCES, 125},
	} {
		if got := (&StartError{c.step, c.no, "x"}).Exit(); got != c.want {
			t.Errorf("%v %v: exit %d, want %d", c.step, c.no, got, c.want)
		}
	}
}

func FuzzDecodeLaunch(f *testing.F) {
	b, _ := EncodeLaunch(sample())
	f.Add(b)
	f.Add([]byte(launchMagic))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLaunch(b)
		if err != nil {
			return
		}
		again, err := EncodeLaunch(l)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("decoded record does not encode to itself: %v", err)
		}
	})
}
