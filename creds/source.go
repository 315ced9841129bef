package creds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	maxSources = 8
	minTTL     = time.Minute // sources are asked again at most that often
)

func (b Binding) checkSources() error {
	if len(b.Sources) == 0 {
		return errors.New("source: missing")
	}
	if len(b.Sources) > maxSources {
		return fmt.Errorf("source: more than %d", maxSources)
	}
	again, asked := false, false
	for _, s := range b.Sources {
		if asked && s.Kind == SourceEnv {
			return fmt.Errorf("source: env %s must stand before files and commands: the client sends its value before those are asked", s.Env)
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("source: %w", err)
		}
		again = again || s.Kind != SourceEnv
		asked = asked || s.Kind == SourceFile || s.Kind == SourceCommand
	}
	if b.TTL != 0 && (b.TTL < minTTL || !again) {
		return fmt.Errorf("ttl: at least %s, and not with env sources alone, which are sent once", minTTL)
	}
	return nil
}

// check holds that exactly the field of the kind is set.
func (s Source) check() error {
	only := Source{Kind: s.Kind}
	ok := false
	switch s.Kind {
	case SourceEnv:
		only.Env, ok = s.Env, ValidEnv(s.Env)
	case SourceFile:
		only.File, ok = s.File, validFile(s.File)
	case SourceCommand:
		only.Argv, only.Pass, ok = s.Argv, s.Pass, validArgv(s.Argv) && validPass(s.Pass)
	case SourceSystemd:
		only.Name, ok = s.Name, ValidName(s.Name)
	default:
		return fmt.Errorf("kind %.32q: env, file, command or systemd", s.Kind)
	}
	if !ok || !s.equal(only) {
		return fmt.Errorf("not a well-formed %s source", s.Kind)
	}
	return nil
}

func (s Source) equal(o Source) bool {
	return s.Env == o.Env && s.File == o.File && s.Name == o.Name &&
		slices.Equal(s.Argv, o.Argv) && slices.Equal(s.Pass, o.Pass)
}

func validFile(p string) bool {
	return (strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/")) && len(p) < 4096 && !strings.Contains(p, "\x00")
}

func validArgv(argv []string) bool {
	return len(argv) > 0 && argv[0] != "" && !slices.ContainsFunc(argv, func(a string) bool {
		return strings.Contains(a, "\x00")
	})
}

func validPass(names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !ValidEnv(n) })
}
