package mitm

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
)

// TestA64_CookiesOfALoginStayOutside holds that what a login sets comes back to its
// host with the credential, and with nothing else, and is never seen in the jail.
func TestA64_CookiesOfALoginStayOutside(t *testing.T) {
	const session = "session-cookie-0123456789"
	l := newLab(t, labOptions{
		binding: func(b *creds.Binding) { b.Targets[0].Path = "/api/**" },
		answer: func(w http.ResponseWriter, req *http.Request) {
			switch req.URL.Path {
			case "/api/login":
				w.Header().Add("Set-Cookie", "sid="+session+"; Domain=test; Secure; HttpOnly; Path=/api")
				w.Header().Add("Set-Cookie", "mine=theirs; Path=/")
			case "/api/logout":
				w.Header().Set("Set-Cookie", "sid=; Max-Age=0; Path=/api")
			}
			io.WriteString(w, req.Header.Get("Cookie"))
		},
	})
	for _, tt := range []struct {
		path, sent string // by the jail
		want       string // seen upstream
		shown      string // to the jail
	}{
		{"/api/login", "", "", ""},
		{"/api/me", "mine=own; b=2", "b=2; sid=" + session + "; mine=theirs", "b=2; sid=" + strings.Repeat("*", len(session)) + "; mine=theirs"},
		{"/other", "b=2", "b=2", "b=2"},
		{"/api/logout", "", "sid=" + session + "; mine=theirs", ""},
		{"/api/me", "b=2", "b=2; mine=theirs", "b=2; mine=theirs"},
	} {
		resp, body := l.ask(send("GET", tt.path, "Cookie: "+tt.sent))
		if resp.StatusCode != 200 || len(resp.Header["Set-Cookie"]) > 0 || tt.shown != "" && body != tt.shown {
			t.Errorf("%s: the jail got %d %v %q", tt.path, resp.StatusCode, resp.Header, body)
		}
		all := l.good.all()
		if got := all[len(all)-1].Header.Get("Cookie"); got != tt.want {
			t.Errorf("%s: the upstream saw %q, want %q", tt.path, got, tt.want)
		}
	}
	if strings.Contains(l.heard.String(), session) {
		t.Error("the jail has the session")
	}
}

func TestA64_TheBoundsOfAJar(t *testing.T) {
	now := time.Unix(1e9, 0)
	at := func(generation uint64) jarKey {
		return jarKey{0, generation, mustAuthority(t, "a.test:443")}
	}
	j := newJar()
	names := func(key jarKey, path string, when time.Time) (out string) {
		for _, c := range j.cookies(key, path, when) {
			out += c.Name
		}
		return out
	}
	j.keep(at(1), "/x/y", []*http.Cookie{
		{Name: "a", Path: "/x"}, {Name: "b"}, {Name: "c", Path: "/", MaxAge: 60}, {Name: "d", Path: "relative"},
		{Name: "e", Value: strings.Repeat("v", maxCookie)}, {Name: "f", MaxAge: -1}, {Name: "g", Expires: now.Add(-time.Hour)},
	}, now)
	for _, tt := range []struct{ path, want string }{{"/x", "abdc"}, {"/x/z", "abdc"}, {"/xy", "c"}, {"/", "c"}} {
		if got := names(at(1), tt.path, now); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
	if got := names(at(1), "/", now.Add(time.Hour)); got != "" {
		t.Errorf("%q outlives its age", got)
	}
	other := at(1)
	other.authority = mustAuthority(t, "a.test:8443")
	if names(other, "/x", now) != "" {
		t.Error("another port gets the cookies")
	}
	for i := range maxCookies + 10 {
		j.keep(at(2), "/", []*http.Cookie{{Name: fmt.Sprint("n", i)}}, now)
	}
	if n := len(j.cookies(at(2), "/", now)); n != maxCookies || names(at(1), "/x", now) != "" {
		t.Errorf("%d cookies are kept, and those of the generation before: %q", n, names(at(1), "/x", now))
	}
}
