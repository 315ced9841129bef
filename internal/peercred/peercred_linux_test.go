package peercred

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var asUser = []string{"setpriv", "--reuid=1000", "--regid=1001", "--groups=1002,1003"}

func TestFromIsWhatTheKernelSays(t *testing.T) {
	conn, _ := peer(t, asUser...)
	c := caller(t, conn)
	groups := c.Groups()
	slices.Sort(groups)
	if c.UID() != 1000 || c.GID() != 1001 || !slices.Equal(groups, []uint32{1002, 1003}) {
		t.Fatalf("uid %d, gid %d, groups %v", c.UID(), c.GID(), groups)
	}
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(c.PidFD().Fd())))
	if err != nil || !strings.Contains(string(info), "Pid:\t"+strconv.Itoa(c.PID())+"\n") {
		t.Fatalf("the pidfd is not of pid %d: %s, %v", c.PID(), info, err)
	}
	groups[0] = 0
	if slices.Contains(c.Groups(), 0) {
		t.Fatal("the groups of a caller can be changed")
	}
}

func TestFromTakesManyGroups(t *testing.T) {
	var many []string
	for g := range 300 {
		many = append(many, strconv.Itoa(2000+g))
	}
	conn, _ := peer(t, "setpriv", "--reuid=1000", "--regid=1001", "--groups="+strings.Join(many, ","))
	if n := len(caller(t, conn).Groups()); n != len(many) {
		t.Fatalf("%d groups, want %d", n, len(many))
	}
}

func TestA80_APeerThatHasEndedIsRefused(t *testing.T) {
	conn, end := peer(t, asUser...)
	end()
	if _, err := From(conn); !errors.Is(err, ErrGone) {
		t.Fatalf("From: %v, want ErrGone", err)
	}

	conn, end = peer(t, asUser...)
	c := caller(t, conn)
	end()
	if _, err := Confined(c, myself(t)); !errors.Is(err, ErrGone) {
		t.Fatalf("Confined: %v, want ErrGone", err)
	}
	if _, err := InCgroup(c, func(string) bool { return false }); !errors.Is(err, ErrGone) {
		t.Fatalf("InCgroup: %v, want ErrGone", err)
	}
}

func TestS06_APeerInASandboxIsConfined(t *testing.T) {
	as := func(more ...string) []string { return append(slices.Clone(asUser), more...) }
	self := myself(t)
	for name, tt := range map[string]struct {
		wrapper []string
		reason  string // empty: not confined
	}{
		"a plain user":                 {asUser, ""},
		"a user namespace":             {as("unshare", "-Ur"), "user namespace"},
		"a mount namespace":            {append([]string{"unshare", "-m"}, asUser...), "mount namespace"},
		"a pid namespace":              {append([]string{"unshare", "-p", "--fork"}, asUser...), "pid namespace"},
		"bwrap":                        {as("bwrap", "--dev-bind", "/", "/"), "namespace"},
		"no_new_privs":                 {as("--no-new-privs"), "no_new_privs"},
		"another root":                 {[]string{"env", "CHROOT=/tmp"}, "another root directory"},
		"a seccomp filter":             {[]string{python, "-c", filtered}, "seccomp"},
		"a network namespace":          {append([]string{"unshare", "-n"}, asUser...), ""},
		"namespaces that hide nothing": {append([]string{"unshare", "-i", "-u"}, asUser...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _ := peer(t, tt.wrapper...)
			reason, err := Confined(caller(t, conn), self)
			if err != nil || (reason == "") != (tt.reason == "") || !strings.Contains(reason, tt.reason) {
				t.Fatalf("confined: %q, %v; want %q", reason, err, tt.reason)
			}
		})
	}
}

// filtered installs a filter that allows everything, as root and so without
// no_new_privs, and runs its arguments.
const filtered = `
import ctypes, os, struct, sys
allow = struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)
buf = ctypes.create_string_buffer(allow)
prog = struct.pack("HxxxxxxQ", 1, ctypes.addressof(buf))
assert ctypes.CDLL(None, use_errno=True).prctl(22, 2, ctypes.c_char_p(prog), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[1], sys.argv[1:])`

func TestS06_Labels(t *testing.T) {
	for label, want := range map[string]bool{
		"":                  true,
		"unconfined":        true,
		"code (unconfined)": true,
		"unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023": true,
		"system_u:system_r:unconfined_service_t:s0":             true,
		"snap.code.code (enforce)":                              false,
		"user_u:user_r:user_t:s0":                               false,
		"unconfined_u:unconfined_r:container_t:s0":              false,
		"x:y:unconfined_tx":                                     false,
		"unconfined//null":                                      false,
	} {
		if got := unconfinedLabel(label); got != want {
			t.Errorf("%q counts as unconfined: %v, want %v", label, got, want)
		}
	}
}

func TestStatusIsReadStrictly(t *testing.T) {
	good := "Name:\tx\nUid:\t1000\t1001\t1002\t1003\nNoNewPrivs:\t1\nSeccomp:\t2\n"
	s, err := parseStatus([]byte(good))
	if err != nil || s != (status{uid: 1001, noNewPrivs: true, filters: 1}) {
		t.Errorf("without a count of filters: %+v, %v", s, err)
	}
	if s, err = parseStatus([]byte(good + "Seccomp_filters:\t3\n")); err != nil || s.filters != 3 {
		t.Errorf("with a count of filters: %+v, %v", s, err)
	}
	for _, text := range []string{"", "Uid:\t1\t1\nSeccomp:\t0\n", "Uid:\tx\tx\nNoNewPrivs:\t0\nSeccomp:\t0\n", "Uid:\t1\nNoNewPrivs:\t0\nSeccomp:\t0\n"} {
		if s, err := parseStatus([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, s)
		}
	}
}

func TestInCgroupAsksAboutEveryHierarchy(t *testing.T) {
	conn, _ := peer(t, asUser...)
	c := caller(t, conn)
	text, err := os.ReadFile("/proc/" + strconv.Itoa(c.PID()) + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	in, err := InCgroup(c, func(p string) bool { asked = append(asked, p); return false })
	if err != nil || in || len(asked) != strings.Count(string(text), "\n") {
		t.Fatalf("in: %v, %v, asked about %q of\n%s", in, err, asked, text)
	}
	if in, err = InCgroup(c, func(p string) bool { return p == asked[len(asked)-1] }); err != nil || !in {
		t.Fatalf("in its own cgroup: %v, %v", in, err)
	}
}

func TestAZeroCallerHasNoIDs(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("the zero caller answered with a uid, which would be root's")
		}
	}()
	Caller{}.UID()
}
