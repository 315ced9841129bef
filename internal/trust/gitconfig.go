package trust

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// gitConfig renders the jail's system-wide git configuration: the caller's
// identity and, for each host with a git credential, the rewriting of ssh remotes
// to https, where the credential can be attached. A setting whose key is not one
// is left out; a value may hold anything but NUL.
func gitConfig(settings []jail.GitSetting, hosts []string) []byte {
	var b bytes.Buffer
	for _, s := range settings {
		section, sub, name, ok := splitKey(s.Key)
		if !ok || strings.ContainsRune(s.Value, 0) {
			continue
		}
		if sub == "" {
			fmt.Fprintf(&b, "[%s]\n", section)
		} else {
			fmt.Fprintf(&b, "[%s %s]\n", section, gitQuote(sub))
		}
		fmt.Fprintf(&b, "\t%s = %s\n", name, gitQuote(s.Value))
	}
	for _, h := range hosts {
		fmt.Fprintf(&b, "[url %s]\n", gitQuote("https://"+h+"/"))
		fmt.Fprintf(&b, "\tinsteadOf = %s\n", gitQuote("git@"+h+":"))
		fmt.Fprintf(&b, "\tinsteadOf = %s\n", gitQuote("ssh://git@"+h+"/"))
	}
	return b.Bytes()
}

// splitKey splits "color.diff.meta" into section, subsection and name.
func splitKey(key string) (section, sub, name string, ok bool) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first <= 0 {
		return "", "", "", false
	}
	section, name = key[:first], key[last+1:]
	if last > first {
		sub = key[first+1 : last]
	}
	return section, sub, name, isGitName(section) && isGitName(name) && !strings.ContainsAny(sub, "\n\x00")
}

func isGitName(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return s != ""
}

// gitEscapes are the only escapes that git reads between quotes.
var gitEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)

func gitQuote(s string) string { return `"` + gitEscapes.Replace(s) + `"` }
