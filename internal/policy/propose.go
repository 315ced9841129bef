package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Proposal is a policy for a directory and why it says what it says.
type Proposal struct {
	Text string   // the YAML
	Why  []string // one line for each thing that was found
}

// toolPresets says which preset a file at the top of a project calls for.
var toolPresets = []struct{ file, preset, tool string }{
	{"package.json", "npm", "npm"},
	{"go.mod", "goproxy", "Go"},
	{"requirements.txt", "pypi", "pip"},
	{"pyproject.toml", "pypi", "Python"},
	{"setup.py", "pypi", "Python"},
	{"Cargo.toml", "crates", "Cargo"},
	{"pom.xml", "maven", "Maven"},
	{"build.gradle", "maven", "Gradle"},
	{"build.gradle.kts", "maven", "Gradle"},
}

// Propose looks at the names at the top of dir and at its git remote, and
// proposes a policy for working there. presets are added whatever is found.
// Nothing that the directory says is copied but a repository's name of plain
// characters.
func Propose(dir string, presets ...string) (Proposal, error) {
	p := &proposal{extends: []string{"workspace"}}
	p.because("the working directory is writable, so that a build or an edit can leave its result")
	for _, t := range toolPresets {
		if _, err := os.Lstat(filepath.Join(dir, t.file)); err == nil {
			p.extend(t.preset, t.file+" is here: "+t.tool+" may read its registry (preset "+t.preset+")")
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Proposal{}, err
		}
	}
	repo, err := githubRemote(dir)
	if err != nil {
		return Proposal{}, err
	}
	if repo != "" {
		p.extend("github-read", "the git remote is github.com/"+repo+": GitHub may be read, with your login attached outside the jail")
		p.rules = []string{
			"* api.github.com/repos/" + repo + "/**",
			"!POST,PUT,PATCH api.github.com/repos/" + repo + "/hooks/**", // and what else outlives a jail
			"!POST,PUT,PATCH api.github.com/repos/" + repo + "/keys/**",
			"!POST,PUT,PATCH api.github.com/repos/" + repo + "/collaborators/**",
			"!POST,PUT,PATCH api.github.com/repos/" + repo + "/actions/secrets/**",
			"!POST,PUT,PATCH api.github.com/repos/" + repo + "/actions/runners/**",
			"GET,POST github.com/" + repo + ".git/**",
			"GET github.com/" + repo + "/info/refs", // the same remote written without .git
			"POST github.com/" + repo + "/git-receive-pack",
		}
		p.because("and in " + repo + " alone, pushes and API writes are allowed, but for what outlives a jail: hooks, keys, collaborators, secrets and runners")
	}
	for _, name := range presets {
		p.extend(name, "you asked for preset "+name)
	}
	text := p.yaml()
	if err := checkProposal(text); err != nil {
		return Proposal{}, err
	}
	return Proposal{Text: text, Why: p.why}, nil
}

// checkProposal decodes a proposal, so that none is shown which could not be
// used.
func checkProposal(text string) error {
	rep := &report{}
	checkNetwork(finish(flatten(readYAML(LocalName, []byte(text), rep), nil, rep), rep), rep)
	return rep.err()
}

type proposal struct {
	extends, rules, why []string
}

func (p *proposal) because(line string) { p.why = append(p.why, line) }

func (p *proposal) extend(preset, why string) {
	if !slices.Contains(p.extends, preset) {
		p.extends = append(p.extends, preset)
		p.because(why)
	}
}

func (p *proposal) yaml() string {
	var b strings.Builder
	b.WriteString("# What a command in this directory may do. In words: omnijailctl policy show " + LocalName + "\n")
	b.WriteString("extends: [" + strings.Join(p.extends, ", ") + "]\n")
	if len(p.rules) > 0 {
		b.WriteString("egress_rules:\n")
		for _, r := range p.rules {
			b.WriteString("  - " + quoteYAML(r) + "\n")
		}
	}
	return b.String()
}

// repoForm takes a repository out of the remotes that git writes. Other
// characters than these are not GitHub's.
var repoForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*url\s*=\s*(?:https://(?:[^/@\s]*@)?github\.com/|git@github\.com:|ssh://git@github\.com/)([A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}?)(?:\.git)?/?\s*$`)
})

// githubRemote returns OWNER/REPO of the remote "origin", else of the first one
// at GitHub, empty if none.
func githubRemote(dir string) (string, error) {
	text, err := readFile(filepath.Join(dir, ".git", "config"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	section, first := "", ""
	for line := range strings.Lines(string(text)) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "[") {
			section = trimmed
			continue
		}
		m := repoForm().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || !strings.HasPrefix(section, "[remote ") || strings.Contains(m[1], "..") {
			continue
		}
		if section == `[remote "origin"]` {
			return m[1], nil
		}
		if first == "" {
			first = m[1]
		}
	}
	return first, nil
}
