package daemon

import (
	"bytes"
	"path"
	"regexp"
	"slices"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/jail"
)

// gitConfigClosed reports whether a git directory that the jail writes in has a
// configuration that it does not.
func gitConfigClosed(grants []jail.OpenGrant) bool {
	return slices.ContainsFunc(grants, func(g jail.OpenGrant) bool {
		return slices.ContainsFunc(g.ReadOnly, func(n jail.OpenName) bool {
			return path.Base(n.Name) == "config" && slices.Contains(g.Git, path.Dir(n.Name))
		})
	})
}

// configuring are the words by which a line with git in it writes configuration.
var configuring = regexp.MustCompile(`\bgit\b.*\b(config|remote|submodule|lfs|worktree|branch|push|clone|init)\b`)

// writesGitConfig reports whether a command, as its caller typed it, may be one of
// git's that write configuration. It only chooses a hint.
func writesGitConfig(argv [][]byte) bool {
	return configuring.Match(bytes.Join(argv, []byte(" ")))
}

// closedGitConfig is the text for such a command that failed.
func closedGitConfig() (text, hint string) {
	return "git's configuration is read-only in the jail, since git outside runs programs that it names",
		"run what writes it (git remote add, git push -u, git config) outside, or with weaken: [git_config]"
}

// withGit are lines that may be git's.
var withGit = regexp.MustCompile(`\bgit\b`)

// unseenRepository says to a command of git's that failed that its repository is not
// in the jail. There is nothing to say of other commands. What the .git file of a
// worktree names is for git to say: a jail may have written it.
func unseenRepository(r jail.OpenReply, argv [][]byte) (text, hint string) {
	switch {
	case r.Repository == "" || !withGit.Match(bytes.Join(argv, []byte(" "))):
		return "", ""
	case r.Linked:
		return "the repository of this worktree or submodule lies outside of what the jail sees",
			`git rev-parse --git-common-dir (outside) names it; if it is the one you mean: omnijailctl exec --read THAT -- … (--write to commit)`
	}
	top := path.Dir(r.Repository)
	return "the git repository of this directory is " + audit.Escape(top) + ", which the jail does not see",
		"omnijailctl exec --cwd " + audit.ShellQuote(top) + " -- …"
}
