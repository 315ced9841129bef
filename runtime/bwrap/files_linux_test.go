package bwrap_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/stage"
)

func TestGrantsReadAndWrite(t *testing.T) {
	r := newRig(t)
	ro, rw := workspace(t), workspace(t)
	write(t, filepath.Join(ro, "in"), "from outside\n")
	l, d := grants(t, jail.OpenGrant{Path: ro, Dir: true}, jail.OpenGrant{Path: rw, Dir: true, Write: true})
	out := r.sh(t, l, d, `cat `+ro+`/in; touch `+ro+`/new 2>&1 | grep -c 'Read-only'; echo made >`+rw+`/made; echo $HOME; ls -A `+jailHome+` / | wc -l`)
	if !strings.HasPrefix(out, "from outside\n1\n") {
		t.Errorf("got %q", out)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(rw, "made"), &st); err != nil || st.Uid != uid || st.Gid != gid {
		t.Errorf("the file made inside: %v, owner %d:%d", err, st.Uid, st.Gid)
	}
}

func TestNothingElseIsVisible(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	sibling := filepath.Join(filepath.Dir(ws), "sibling")
	write(t, sibling, "private\n")
	l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true})
	out := r.sh(t, l, d, `cat `+sibling+` /etc/shadow /root/x /var/log/x /run/x 2>/dev/null; ls -d /root /var /srv /mnt /home/* /run/* 2>/dev/null; ls `+filepath.Dir(ws))
	if out != jailHome+"\n"+filepath.Base(ws)+"\n" {
		t.Errorf("visible: %q", out)
	}
}

func TestMasksPinsAndHolds(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	write(t, ws+"/.env", "SECRET=1\n")
	write(t, ws+"/.aws/credentials", "SECRET=2\n")
	write(t, ws+"/.git/config", "[core]\n")
	write(t, ws+"/.git/hooks/pre-commit", "#!/bin/sh\n")
	write(t, ws+"/a/b/c/policy", "policy\n")
	write(t, ws+"/plain", "plain\n")
	l, d := grants(t, jail.OpenGrant{
		Path: ws, Dir: true, Write: true,
		Held:     []jail.OpenName{{Name: ".git", Dir: true}, {Name: "a", Dir: true}, {Name: "a/b", Dir: true}, {Name: "a/b/c", Dir: true}},
		ReadOnly: []jail.OpenName{{Name: ".git/config"}, {Name: ".git/hooks", Dir: true}, {Name: "a/b/c/policy"}},
		Masked:   []jail.OpenName{{Name: ".env"}, {Name: ".aws", Dir: true}},
	})
	out := r.sh(t, l, d, `cd `+ws+` || exit 1
		cat .env; ls -A .aws
		for f in .env .aws/x .git/config .git/hooks/new a/b/c/policy; do echo x 2>/dev/null >>$f && echo "wrote $f"; done
		mv .git g 2>/dev/null && echo "moved .git"; mv a/b a/x 2>/dev/null && echo "moved a/b"; mv a aa 2>/dev/null && echo "moved a"
		rm -rf .git/hooks .env .aws a/b/c/policy 2>/dev/null
		ln .git/config link 2>/dev/null && echo linked
		cat .git/config a/b/c/policy
		echo x >>.git/HEAD && echo x >>a/b/new && echo x >>plain && rm plain && echo "wrote the rest"`)
	if want := "[core]\npolicy\nwrote the rest\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	for name, want := range map[string]string{".env": "SECRET=1\n", ".aws/credentials": "SECRET=2\n", ".git/config": "[core]\n"} {
		if b, err := os.ReadFile(filepath.Join(ws, name)); err != nil || string(b) != want {
			t.Errorf("%s outside: %q, %v", name, b, err)
		}
	}
}

func TestGrantInsideAGrant(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	write(t, ws+"/build/.env", "SECRET\n")
	write(t, ws+"/file", "old\n")
	l, d := grants(t,
		jail.OpenGrant{Path: ws, Dir: true, Held: []jail.OpenName{{Name: "build", Dir: true}, {Name: "file"}}},
		jail.OpenGrant{Path: ws + "/build", Dir: true, Write: true, Masked: []jail.OpenName{{Name: ".env"}}},
		jail.OpenGrant{Path: ws + "/file", Write: true},
	)
	out := r.sh(t, l, d, `cd `+ws+`; touch x 2>/dev/null && echo "wrote outer"; cat build/.env; touch build/x && echo "wrote inner"; echo new >file && cat file`)
	if out != "wrote inner\nnew\n" {
		t.Errorf("got %q", out)
	}
	l, d = grants(t, jail.OpenGrant{Path: ws, Dir: true}, jail.OpenGrant{Path: ws + "/build", Dir: true, Write: true})
	if _, err := stage.NewPlan(l); err == nil || !strings.Contains(err.Error(), "inside the grant") {
		t.Errorf("an inner grant without a place: %v", err)
	}
	_ = d
}

// A descriptor that the scout claims to be a name below its tree, and is not.
func TestS26_ForeignDescriptorsAreRefused(t *testing.T) {
	r := newRig(t)
	ws, other := workspace(t), workspace(t)
	write(t, ws+"/.env", "x")
	for name, path := range map[string]string{"same file system": other, "the host's own mount": ws + "/.env", "shadow": "/etc/shadow", "root": "/", "proc": "/proc"} {
		l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true, Masked: []jail.OpenName{{Name: ".env"}}})
		f, err := os.OpenFile(path, unix.O_PATH, 0)
		if err != nil {
			t.Fatal(err)
		}
		d.Names[0][0] = f
		o := r.run(t, command{argv: []string{"/bin/true"}, layout: l, descs: d})
		if o.err == nil || !strings.Contains(o.err.Error(), "does not lie on its tree") {
			t.Errorf("%s: %v", name, o.err)
		}
		f.Close()
	}
}

// A link that was planted where a protected name was, or anywhere else, leads to
// nothing: neither the staging nor the command gets out of the grant.
func TestPlantedLinksLeadNowhere(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	outside := workspace(t)
	write(t, outside+"/config", "outside\n")
	os.Symlink(outside+"/config", ws+"/config")
	os.Symlink(outside, ws+"/dir")
	l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true, Write: true, ReadOnly: []jail.OpenName{{Name: "config"}}})
	if o := r.run(t, command{argv: []string{"/bin/cat", ws + "/config"}, layout: l, descs: d}); o.stdout != "" {
		t.Errorf("read through a staged link: %q", o.stdout)
	}
	l, d = grants(t, jail.OpenGrant{Path: ws, Dir: true, Write: true})
	if out := r.sh(t, l, d, `cat `+ws+`/config `+ws+`/dir/config 2>/dev/null; echo x 2>/dev/null >`+ws+`/dir/new; true`); out != "" {
		t.Errorf("read through a link: %q", out)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("made outside: %v", entries)
	}
}

func TestS26_UngrantableFileSystems(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	write(t, ws+"/p/x", "")
	if err := unix.Mount("proc", ws+"/p", "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(ws+"/p", unix.MNT_DETACH)
	l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true})
	o := r.run(t, command{argv: []string{"/bin/true"}, layout: l, descs: d})
	if o.err == nil || !strings.Contains(o.err.Error(), "type proc") {
		t.Errorf("a grant with a procfs in it: %v", o.err)
	}
}

// What the administrator mounted over a directory stays over it, with its own
// flags and ours.
func TestS26_MountsInsideAGrantComeAlong(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	write(t, ws+"/sub/covered", "covered\n")
	if err := unix.Mount("tmpfs", ws+"/sub", "tmpfs", unix.MS_NOEXEC|unix.MS_NOSYMFOLLOW, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(ws+"/sub", unix.MNT_DETACH)
	write(t, ws+"/sub/file", "")
	if err := os.Symlink("file", ws+"/sub/link"); err != nil {
		t.Fatal(err)
	}
	l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true})
	out := r.sh(t, l, d, `cat `+ws+`/sub/link 2>/dev/null && echo followed; test -e `+ws+`/sub/covered && echo covered; grep `+ws+`/sub /proc/self/mountinfo | cut -d' ' -f6`)
	options := strings.Split(strings.TrimSpace(out), ",")
	for _, want := range []string{"ro", "nosuid", "nodev", "noexec", "nosymfollow"} {
		if !slices.Contains(options, want) || strings.Contains(out, "ed\n") {
			t.Errorf("no %s, or what should not be there, in %q", want, out)
		}
	}
}

// Later mounts of the node's do not appear in a running jail, and what the node
// unmounts is not kept alive by one.
func TestS26_RunningJailsAndTheNodesMounts(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	if err := unix.Mount("tmpfs", ws, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(ws, unix.MNT_DETACH)
	if err := unix.Mount("", ws, "", unix.MS_SHARED, ""); err != nil {
		t.Fatal(err)
	}
	write(t, ws+"/late/x", "")
	l, d := grants(t, jail.OpenGrant{Path: ws, Dir: true})
	other := workspace(t)
	if err := unix.Mount("tmpfs", other, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(other, unix.MNT_DETACH)
	s, err := r.start(t, command{argv: []string{"/bin/cat"}, layout: l, descs: d, stdin: never{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.end(t)
	s.goOn(t)
	if err := unix.Mount("tmpfs", ws+"/late", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(ws+"/late", unix.MNT_DETACH)
	for _, pid := range descendants(t, s.process.PID) {
		b, err := os.ReadFile("/proc/" + pid + "/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), ws+"/late") {
			t.Errorf("process %s sees a later mount of the node's", pid)
		}
		if strings.Contains(string(b), other) {
			t.Errorf("process %s keeps a mount of the node's that was not granted", pid)
		}
	}
}

func TestProcIsClosed(t *testing.T) {
	r := newRig(t)
	out := r.sh(t, layout(), noDescs, `
		for f in keys timer_list kcore; do test -e /proc/$f && wc -c </proc/$f; done 2>/dev/null | sort -u
		for f in sys/kernel/core_pattern sys/net/ipv4/ip_forward sysrq-trigger; do (echo 1 >/proc/$f) 2>/dev/null && echo "wrote $f"; done
		grep -c ' /proc/sys ro,' /proc/self/mountinfo
		ls /sys; ls /sys/devices/system/cpu | grep -c online`)
	if out != "0\n1\ndevices\n1\n" {
		t.Errorf("got %q", out)
	}
}

func TestScratchIsBounded(t *testing.T) {
	r := newRig(t)
	l := layout()
	l.Scratch, l.Tmp, l.Shm = 1<<20, 1<<20, 1<<20
	out := r.sh(t, l, noDescs, `for d in `+jailHome+` /tmp /dev/shm; do
		head -c 2000000 /dev/zero 2>/dev/null >$d/big && echo "over in $d"; test -s $d/big || echo "empty $d"; done
		cp /bin/true /tmp/x && chmod u+s /tmp/x 2>/dev/null; for d in / /etc /dev /usr /run; do touch $d/x 2>/dev/null && echo "wrote $d"; done; true`)
	if out != "" {
		t.Errorf("got %q", out)
	}
}
