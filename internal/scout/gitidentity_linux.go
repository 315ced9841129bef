package scout

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/omnijail/omnijail/internal/child"
)

// Bounds of the caller's git configuration.
const (
	gitFileBytes = 256 << 10
	gitSettings  = 128
	gitDepth     = 3 // of include.path
)

// gitIdentity reads the caller's global git configuration, both files in git's
// order. What cannot be read is noted, not an error: the command may not need it.
func (s *session) gitIdentity() []child.GitSetting {
	var out []child.GitSetting
	home := s.req.User.Home
	for _, p := range []string{filepath.Join(home, ".config/git/config"), filepath.Join(home, ".gitconfig")} {
		settings, err := readGit(p, home, gitDepth)
		if err != nil {
			s.notes = append(s.notes, fmt.Sprintf("git identity: %v", err))
		}
		out = append(out, settings...)
	}
	return lastOfEach(out)
}

func readGit(p, home string, depth int) (out []child.GitSetting, err error) {
	text, err := readRegular(p, gitFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	settings, err := parseGitConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	for _, st := range settings {
		if st.section == "include" && st.subsection == "" && st.key == "path" && depth > 0 {
			inner, err := readGit(includePath(st.value, p, home), home, depth-1)
			if err != nil {
				return out, err
			}
			out = append(out, inner...)
			continue
		}
		if key := st.allowedKey(); key != "" && plain(st.value) && len(out) < gitSettings {
			out = append(out, child.GitSetting{Key: key, Value: st.value})
		}
	}
	return out, nil
}

func includePath(value, from, home string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(filepath.Dir(from), value)
}

// lastOfEach keeps git's rule that the last setting of a key holds.
func lastOfEach(in []child.GitSetting) (out []child.GitSetting) {
	last := map[string]int{}
	for i, s := range in {
		last[s.Key] = i
	}
	for i, s := range in {
		if last[s.Key] == i {
			out = append(out, s)
		}
	}
	return out
}
