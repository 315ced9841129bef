package trust

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// nodeEntries are the names of /etc that a jail gets from the node, where they
// are there.
var nodeEntries = []string{
	"localtime", "ld.so.*", "os-release", "lsb-release", "debian_version", "services", "protocols",
	"rpc", "shells", "inputrc", "bash.bashrc", "profile", "terminfo", "mime.types", "fonts",
	"crypto-policies", "gai.conf", "locale.alias", "alternatives", "ssl/openssl.cnf", "pki/tls/openssl.cnf",
	"chromium", "chromium.d", // Debian's does not start without
}

// ownEntries are never taken from the node: we write them, or they tell of the
// node, its people or its keys.
var ownEntries = []string{
	"passwd", "group", "nsswitch.conf", "hosts", "hostname", "resolv.conf", "machine-id", "gitconfig",
	"ssl", "pki", "ca-certificates", "firefox", "shadow", "gshadow", "subuid", "subgid", "sudoers", "sudoers.d", "ssh",
	"environment", "environment.d", "fstab", "mtab", "cron.d", "systemd", "security", "pam.d", "omnijail",
}

// sharedEntries are directories in which there is something of ours too, so that
// they are never bound.
var sharedEntries = []string{"chromium", "opt", "brave"}

// wanted returns the names below /etc to take: those on the list, and each first
// component that a link under /usr leads to. Debian's Maven and JDK do not start
// without.
func (r reader) wanted() []string {
	var names []string
	for _, pattern := range nodeEntries {
		found, _ := filepath.Glob(r.host(path.Join("/etc", pattern))) // our patterns are well-formed
		for _, f := range found {
			names = append(names, strings.TrimPrefix(f, r.host("/etc")+"/"))
		}
	}
	for _, name := range r.linked() {
		if !slices.Contains(ownEntries, name) && !secretName(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// entry takes one name of /etc: a link into /usr as a link, a file as a copy, a
// directory as a bind or, where it holds more than a jail may see, as copies of
// the rest. What is none of that is left out.
func (r reader) entry(name string) (t Tree) {
	p := path.Join("/etc", name)
	st, err := os.Lstat(r.host(p))
	if err != nil || !public(st) {
		return Tree{}
	}
	if target, err := os.Readlink(r.host(p)); err == nil {
		if strings.HasPrefix(absolute(p, target), "/usr/") {
			t.link(p, target)
			return t
		}
	}
	if st.IsDir() {
		return r.directory(p, slices.Contains(sharedEntries, name))
	}
	if data, err := r.copyFile(p); err == nil && !secretContent(data) {
		t.file(p, data)
	}
	return t
}

// absolute is where a link at p leads by its words.
func absolute(p, target string) string {
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	return path.Join(path.Dir(p), target)
}
