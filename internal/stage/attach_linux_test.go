package stage

import "testing"

// What would have to be made in a directory of the node's is not made beside it, where
// nobody sees it: a jail that waits is of no use then.
func TestS26_NothingIsMadeUnderADirectoryOfTheNodes(t *testing.T) {
	l := Layout{System: []System{{Path: "/usr", Source: "/usr"}}, Binds: []Bind{{Source: "/srv/certs", Path: "/etc/ssl/certs"}}}
	base, err := Base(l)
	if err != nil {
		t.Fatal(err)
	}
	l.Home, l.User.UID, l.User.GID = "/home/u", 1000, 1000
	for name, c := range map[string]struct {
		file, link string
		fits       bool
	}{
		"beside": {"/etc/own", "/etc/ssl/link", true},
		"a file": {"/etc/ssl/certs/own.pem", "/etc/ssl/link", false},
		"a link": {"/etc/own", "/etc/ssl/certs/link", false},
	} {
		l := l
		l.Files, l.Links = []File{{Path: c.file, Mode: 0o644}}, []Link{{Path: c.link, Target: "x"}}
		plan, err := NewPlan(l)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Fits(base.Made()); got != c.fits {
			t.Errorf("%s: fits %v", name, got)
		}
	}
}
