package scout

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gitValueBytes bounds one value that is passed on.
const gitValueBytes = 1024

// gitKeys maps the settings that a jail may have of the caller's to how they are
// spelled. None of them names a program or a file.
var gitKeys = map[string]string{
	"user.name": "user.name", "user.email": "user.email", "init.defaultbranch": "init.defaultBranch",
	"core.autocrlf": "core.autocrlf", "pull.rebase": "pull.rebase",
}

// allowedKey is the spelling of a setting that may be passed on, else empty.
func (s setting) allowedKey() string {
	if s.section == "color" && plain(s.subsection) {
		return strings.Join(strings.FieldsFunc("color\x00"+s.subsection+"\x00"+s.key, func(r rune) bool { return r == 0 }), ".")
	}
	if s.subsection != "" {
		return ""
	}
	return gitKeys[s.section+"."+s.key]
}

// plain is a value that can be written into another configuration file without
// changing its meaning there.
func plain(s string) bool {
	return len(s) <= gitValueBytes && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
