package mitm

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/egress"
)

// The limits of what a login's cookies may take.
const (
	maxCookies = 50      // of one credential at one authority
	maxCookie  = 4 << 10 // bytes of name and value
)

// jar keeps the cookies that a jail's credentials have earned, so that sessions work
// and the jail sees none of them. A cookie goes back to the authority that set it,
// whatever domain it names, with the generation of the credential that earned it.
type jar struct {
	mu    sync.Mutex
	byKey map[jarKey][]*http.Cookie // the latest last
}

type jarKey struct {
	binding    int
	generation uint64
	authority  egress.Authority
}

func newJar() *jar { return &jar{byKey: map[jarKey][]*http.Cookie{}} }

// keep takes the cookies that a reply to a request for path set, and forgets those
// of older generations. It returns the values that it has taken.
func (j *jar) keep(key jarKey, path string, set []*http.Cookie, now time.Time) (values []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for other := range j.byKey {
		if other.binding == key.binding && other.generation < key.generation {
			delete(j.byKey, other)
		}
	}
	list := j.byKey[key]
	for _, c := range set {
		if len(c.Name)+len(c.Value) > maxCookie {
			continue
		}
		if !strings.HasPrefix(c.Path, "/") {
			c.Path = defaultPath(path)
		}
		if c.MaxAge > 0 {
			c.Expires = now.Add(time.Duration(min(c.MaxAge, 400*24*3600)) * time.Second)
		}
		list = slices.DeleteFunc(list, func(old *http.Cookie) bool { return old.Name == c.Name && old.Path == c.Path })
		if c.MaxAge >= 0 && !expired(c, now) {
			list = append(list, c)
			values = append(values, c.Value)
		}
	}
	j.byKey[key] = list[max(0, len(list)-maxCookies):]
	return values
}

// cookies returns what goes with a request for path, the longest path first.
func (j *jar) cookies(key jarKey, path string, now time.Time) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []*http.Cookie
	for _, c := range j.byKey[key] {
		if !expired(c, now) && pathMatches(c.Path, path) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *http.Cookie) int { return len(b.Path) - len(a.Path) })
	return out
}

func expired(c *http.Cookie, now time.Time) bool { return !c.Expires.IsZero() && !c.Expires.After(now) }

// defaultPath is the directory of a request's path (RFC 6265 section 5.1.4).
func defaultPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// pathMatches reports whether a cookie of a path goes with a request for another.
func pathMatches(cookie, path string) bool {
	return path == cookie || strings.HasPrefix(path, cookie) &&
		(strings.HasSuffix(cookie, "/") || path[len(cookie)] == '/')
}

// addCookies puts ours beside those of the client's that have other names.
func addCookies(h http.Header, ours []*http.Cookie) {
	if len(ours) == 0 {
		return
	}
	var all []string
	for pair := range strings.SplitSeq(strings.Join(h["Cookie"], ";"), ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if name != "" && !slices.ContainsFunc(ours, func(c *http.Cookie) bool { return c.Name == name }) {
			all = append(all, strings.TrimSpace(pair))
		}
	}
	for _, c := range ours {
		all = append(all, c.Name+"="+c.Value)
	}
	h["Cookie"] = []string{strings.Join(all, "; ")}
}
