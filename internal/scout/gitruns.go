package scout

import (
	"slices"
	"strings"
)

// Words that, in the name of a git setting, mean a program, or a file in which
// one may be named. New ones of git's follow the same habit, so parts of names
// are looked for and not a list of settings.
var runningWords = []string{
	"command", "cmd", "program", "helper", "hook", "editor", "pager", "askpass", "driver", "textconv",
	"clean", "smudge", "process", "external", "browser", "tunnel", "proxy", "vcs", "uploadpack", "receivepack",
	"sshvariant", "templatedir", "difffilter", "sendmail", "smtpserver", "customtransfer",
}

// Sections of which every setting counts.
var runningSections = []string{"include", "includeif", "pager", "protocol", "filter", "hook", "credential", "difftool", "mergetool", "trailer", "browser", "man", "guitool", "sendemail", "imap", "tar"}

// runs reports whether git, or a tool that asks git, runs a program because of s.
func runs(s setting) bool {
	value := strings.ToLower(strings.TrimSpace(s.value))
	switch {
	case slices.Contains(runningSections, s.section):
		return true
	case strings.HasPrefix(value, "!") || strings.Contains(value, "ext::"):
		return true
	case s.section == "core" && s.key == "fsmonitor":
		return !slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}, value)
	}
	return slices.ContainsFunc(runningWords, func(w string) bool { return strings.Contains(s.key, w) })
}

// runsProgram returns a setting of the configuration text that runs a program.
// What cannot be read might.
func runsProgram(text []byte) (setting string, found bool) {
	settings, err := parseGitConfig(text)
	if err != nil {
		return "what cannot be read", true
	}
	for _, s := range settings {
		if runs(s) {
			return s.section + "." + s.key, true
		}
	}
	return "", false
}

// runsLine reports whether the list of a rebase or a sequence has a command in it.
func runsLine(todo []byte) bool {
	for line := range strings.Lines(string(todo)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word, _, _ = strings.Cut(word, "\t"); word == "exec" || word == "x" {
			return true
		}
	}
	return false
}
