package selftest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// credentialAttempts look for the credential, and spend its placeholder or
// another credential where they do not belong.
func credentialAttempts() (out []Attempt) {
	add := func(name, tries, must string, probe func(s *Site, placeholder string) Finding) {
		out = append(out, Attempt{
			Name: "credential." + name, Tries: tries, Must: must, Guarantee: jail.NetworkOnlyProxy, group: network,
			probe: proxied(func(s *Site) Finding {
				placeholder := os.Getenv(tokenEnv)
				if placeholder == "" {
					return notRun("the policy does not have the suite's credential")
				}
				return probe(s, placeholder)
			}),
		})
	}
	add("environment", "find the credential in the environment", "placeholders only", func(s *Site, _ string) Finding {
		for _, kv := range os.Environ() {
			_, v, _ := strings.Cut(kv, "=")
			if s.isToken(v) {
				return succeeded("it is in %.20s…", kv)
			}
		}
		return refused("it is not there")
	})
	add("files", "find the credential in what omnijail composed", "it is nowhere", func(s *Site, _ string) Finding {
		for _, pattern := range []string{"/run/omnijail/*", "/etc/git*", "/etc/omnijail*", s.Dir + "/token"} {
			names, _ := filepath.Glob(pattern)
			for _, name := range names {
				text, _ := os.ReadFile(name)
				for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \t\r\n\"':=,", r) }) {
					if s.isToken(word) {
						return succeeded("it is in %s", name)
					}
				}
			}
		}
		return refused("it is not there")
	})
	const must = "403, and nothing is forwarded"
	at := func(host string) target { return target{host: host} }
	for _, c := range []struct {
		name, tries string
		to          string
		raw         func(p string) string
	}{
		{"other_host", "send the placeholder to another allowed host", otherName, func(p string) string {
			return request("GET", "/x", otherName, "Authorization: Bearer "+p)
		}},
		{"other_host_basic", "send it there as a password", otherName, func(p string) string {
			return request("GET", "/x", otherName, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+p)))
		}},
		{"other_host_field", "send it there in a field of its own", otherName, func(p string) string { return request("GET", "/x", otherName, "X-Token: "+p) }},
		{"other_host_cookie", "send it there as a cookie", otherName, func(p string) string { return request("GET", "/x", otherName, "Cookie: session="+p) }},
		{"other_host_query", "send it there in the query", otherName, func(p string) string { return request("GET", "/x?token="+p, otherName) }},
		{"other_host_path", "send it there in the path", otherName, func(p string) string { return request("GET", "/x/"+p, otherName) }},
		{"other_host_encoded", "send it there percent-encoded", otherName, func(p string) string {
			return request("GET", "/x?token=%"+hex.EncodeToString([]byte(p[:1]))+p[1:], otherName)
		}},
		{"query", "send it to its own host in the query", boundName, func(p string) string { return request("GET", "/in/x?token="+p, boundName) }},
		{"path", "send it to its own host in the path", boundName, func(p string) string { return request("GET", "/in/"+p, boundName) }},
		{"cookie", "send it to its own host as a cookie", boundName, func(p string) string { return request("GET", "/in/x", boundName, "Cookie: t="+p) }},
		{"out_of_scope", "send it to its own host outside of its path", boundName, func(p string) string {
			return request("GET", "/out/x", boundName, "Authorization: Bearer "+p)
		}},
		{"foreign", "send a credential of one's own to the bound host", boundName, func(string) string {
			return request("GET", "/in/x", boundName, "Authorization: Bearer somebody-elses-token-0123456789")
		}},
		{"foreign_basic", "send a login of one's own to the bound host", boundName, func(string) string {
			return request("GET", "/in/x", boundName, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("me:mine")))
		}},
		{"two", "send the placeholder and a credential of one's own", boundName, func(p string) string {
			return request("GET", "/in/x", boundName, "Authorization: Bearer "+p, "Authorization: Bearer mine")
		}},
	} {
		add(c.name, c.tries, must, func(s *Site, p string) Finding { return judged(s.ask(at(c.to), "GET", c.raw(p))) })
	}
	return out
}

// isToken compares with the credential, which is not here to compare with.
func (s *Site) isToken(v string) bool {
	sum := sha256.Sum256([]byte(v))
	return s.TokenSum != "" && hex.EncodeToString(sum[:]) == s.TokenSum
}
