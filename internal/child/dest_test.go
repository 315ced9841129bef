package child

import (
	"testing"

	"pgregory.net/rapid"
)

func TestS26_Destinations(t *testing.T) {
	const home = "/home/u"
	system := []string{"/usr", "/lib64", "/srv/tools"}
	for _, tt := range []struct {
		dest string
		ok   bool
	}{
		{"/", false}, {"", false}, {"w", false}, {"/w/../x", false}, {"/w/", false}, {"/w\x00", false}, {"/w\xff", false},
		{"/proc", false}, {"/proc/1/root", false}, {"/dev/shm", false}, {"/dev/shm/x", false}, {"/sys/kernel", false},
		{"/run/user/1000", false}, {"/etc", false}, {"/etc/ssl", false}, {"/usr/libexec/omnijail", false}, {"/usr/libexec", false},
		{"/usr", false}, {"/tmp", false}, {"/home", false}, {"/home/u", false}, {"/srv", false}, {"/srv/tools", false},
		{"/tmp/x", true}, {"/home/u/w", true}, {"/home/ux", true}, {"/srv/data", true}, {"/process", true}, {"/var/lib/x", true},
	} {
		if err := CheckDest(tt.dest, home, system); (err == nil) != tt.ok {
			t.Errorf("CheckDest(%q): %v, want ok %v", tt.dest, err, tt.ok)
		}
	}
}

// Whatever is allowed lies apart from every place of ours: not above one, and
// not inside a closed one.
func TestS26_AllowedDestinationsNeverCoverOurs(t *testing.T) {
	name := rapid.SampledFrom([]string{"", "/", "tmp", "home", "u", "usr", "run", "etc", "dev", "proc", "w", ".."})
	rapid.Check(t, func(t *rapid.T) {
		dest := ""
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			dest += "/" + name.Draw(t, "name")
		}
		if CheckDest(dest, "/home/u", []string{"/usr"}) != nil {
			return
		}
		for _, own := range []string{"/tmp", "/home/u", "/usr", "/run/omnijail", "/etc/passwd", "/dev/shm", "/proc/1"} {
			if Within(dest, own) {
				t.Fatalf("%s is allowed and contains %s", dest, own)
			}
		}
	})
}
