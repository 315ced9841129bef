package mitm

import (
	"iter"
	"net/http"
	"slices"
	"strings"
)

// hopByHop are the headers that belong to one connection.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
}

// ownHeaders say what we have refused. No upstream speaks in our name.
var ownHeaders = []string{"X-Omnijail-Code", "X-Omnijail-Reason", "X-Omnijail-Id"}

// hopNames yields the headers that Connection declares hop-by-hop, in canonical form.
func hopNames(h http.Header) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, v := range h["Connection"] {
			for name := range strings.SplitSeq(v, ",") {
				if name = strings.TrimSpace(name); name != "" && !yield(http.CanonicalHeaderKey(name)) {
					return
				}
			}
		}
	}
}

// stripHops removes what must not pass a hop.
func stripHops(h http.Header) {
	for name := range hopNames(h) {
		delete(h, name)
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}

// stripRequest removes what must not reach the upstream: hop-by-hop headers and
// the jail's words about who it is. It runs before a credential is attached, so
// that no header of the client's can take the credential off again. That trailers are welcome is passed on. It
// returns what it removed, for the search for placeholders.
func stripRequest(h http.Header) (dropped http.Header) {
	drop := func(name string) {
		if v, ok := h[name]; ok {
			if dropped == nil {
				dropped = http.Header{}
			}
			dropped[name] = v
			delete(h, name)
		}
	}
	for name := range hopNames(h) {
		if name != "Connection" { // which is still being read
			drop(name)
		}
	}
	for _, name := range hopByHop {
		drop(name)
	}
	for name := range h {
		if aboutTheClient(name) {
			drop(name)
		}
	}
	if strings.Contains(strings.ToLower(strings.Join(dropped["Te"], ",")), "trailers") {
		h["Te"] = []string{"trailers"}
	}
	return dropped
}

// aboutTheClient reports whether a header says by what way a request came. From a jail
// such words are inventions.
func aboutTheClient(name string) bool {
	return name == "Forwarded" || name == "Via" || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Proxy-")
}

// stripReply removes what must not reach the jail. Alt-Svc would invite it to a
// protocol that has no way out.
func stripReply(h http.Header) {
	stripHops(h)
	delete(h, "Alt-Svc")
	delete(h, "Proxy-Authenticate")
	delete(h, "Proxy-Authentication-Info")
	for _, name := range ownHeaders {
		delete(h, name)
	}
	if asked := h["Www-Authenticate"]; len(asked) > 0 {
		h["Www-Authenticate"] = slices.DeleteFunc(slices.Clone(asked), ofConnection)
	}
}

// ofConnection reports whether a challenge asks for a scheme that authenticates the
// connection and not the request: whoever used it next would be taken for the first.
func ofConnection(challenge string) bool {
	for part := range strings.SplitSeq(challenge, ",") {
		scheme, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		if strings.EqualFold(scheme, "NTLM") || strings.EqualFold(scheme, "Negotiate") {
			return true
		}
	}
	return false
}

// trailerAllowed reports whether a field may stand after the body, where it
// would change what was judged before it.
func trailerAllowed(name string) bool {
	switch name {
	case "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Host", "Te", "Trailer",
		"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Expect", "Range", "Max-Forwards":
		return false
	}
	return !strings.HasPrefix(name, "Content-") && !strings.HasPrefix(name, "X-Forwarded-") &&
		!strings.HasPrefix(name, "Proxy-") && !strings.HasPrefix(name, "If-")
}
