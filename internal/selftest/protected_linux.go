package selftest

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Names in the workspace.
const (
	plainFile  = "file"
	hiddenFile = ".env"
	gitConfig  = ".git/config"
	gitHook    = ".git/hooks/pre-commit"
)

// protectedAttempts are after names in a writable workspace that are hidden,
// because they carry secrets, or read-only, because programs outside run them.
func protectedAttempts() (out []Attempt) {
	for _, p := range []struct {
		name, tries, must string
		try               func(s *Site) Finding
	}{
		{"read_hidden", "read a file that carries secrets", "it is empty", func(s *Site) Finding { return marked(filepath.Join(s.Dir, hiddenFile)) }},
		{"hidden_by_fd", "read it through a descriptor of the directory", "it is empty", func(s *Site) Finding {
			return marked("/proc/self/cwd/" + hiddenFile)
		}},
		{"move_mask", "move what hides it away and read", "EBUSY", func(s *Site) Finding {
			return unmasked(s, os.Rename(filepath.Join(s.Dir, hiddenFile), filepath.Join(s.Dir, "moved")))
		}},
		{"remove_mask", "remove what hides it and read", "EBUSY", func(s *Site) Finding {
			if s.Via != "" {
				return marked(filepath.Join(s.Dir, hiddenFile)) // it is needed once more
			}
			return unmasked(s, os.Remove(filepath.Join(s.Dir, hiddenFile)))
		}},
		{"link_mask", "give it a second name and read that", "EXDEV or an empty file", func(s *Site) Finding {
			name := filepath.Join(s.Dir, "second")
			if err := os.Link(filepath.Join(s.Dir, hiddenFile), name); err != nil {
				return refused("%v", err)
			}
			defer os.Remove(name)
			return marked(name)
		}},
		{"exchange_mask", "exchange it with another file and read", "EBUSY", func(s *Site) Finding {
			return withFile(s, "exchanged", func(name string) Finding {
				hidden := filepath.Join(s.Dir, hiddenFile)
				err := unix.Renameat2(unix.AT_FDCWD, hidden, unix.AT_FDCWD, name, unix.RENAME_EXCHANGE)
				if err == nil {
					defer unix.Renameat2(unix.AT_FDCWD, hidden, unix.AT_FDCWD, name, unix.RENAME_EXCHANGE)
					return marked(name)
				}
				return refused("%v", err)
			})
		}},
		{"git_config", "write git's configuration", "EROFS", func(s *Site) Finding {
			return opened(os.OpenFile(filepath.Join(s.Dir, gitConfig), os.O_WRONLY|os.O_APPEND, 0))
		}},
		{"git_config_truncate", "empty git's configuration", "EROFS", func(s *Site) Finding {
			return fails(os.Truncate(filepath.Join(s.Dir, gitConfig), 0))
		}},
		{"git_config_replace", "rename another file over git's configuration", "EBUSY", func(s *Site) Finding {
			return withFile(s, "config-new", func(name string) Finding { return fails(os.Rename(name, filepath.Join(s.Dir, gitConfig))) })
		}},
		{"git_config_remove", "remove git's configuration", "EBUSY", func(s *Site) Finding { return fails(os.Remove(filepath.Join(s.Dir, gitConfig))) }},
		{"git_hook", "write a hook", "EROFS", func(s *Site) Finding {
			return fails(os.WriteFile(filepath.Join(s.Dir, gitHook), []byte("#!/bin/sh\n"), 0o755))
		}},
		{"git_hooks_move", "move the directory of hooks away", "EBUSY", func(s *Site) Finding {
			return fails(os.Rename(filepath.Join(s.Dir, ".git/hooks"), filepath.Join(s.Dir, ".git/hooks-old")))
		}},
		{"git_move", "move the repository aside", "EBUSY", func(s *Site) Finding {
			return fails(os.Rename(filepath.Join(s.Dir, ".git"), filepath.Join(s.Dir, "git-old")))
		}},
	} {
		out = append(out, Attempt{
			Name: "protected." + p.name, Tries: p.tries, Must: p.must, Guarantee: jail.Files,
			probe: func(s *Site) Finding {
				if !s.Write {
					return notRun("the workspace is not writable")
				}
				f := p.try(s)
				if s.Via != "" {
					repair(s)
				}
				return f
			},
			after: (*node).intact,
		})
	}
	return out
}

// unmasked looks behind a mask that has gone, which it has when err is nil.
func unmasked(s *Site, err error) Finding {
	if err != nil {
		return refused("%v", err)
	}
	for _, name := range []string{hiddenFile, "moved"} {
		if f := marked(filepath.Join(s.Dir, name)); f.Result == Succeeded {
			return f
		}
	}
	return succeeded("the mask went away")
}

// repair restores the workspace between attempts that nothing refused.
func repair(s *Site) {
	for from, to := range map[string]string{"moved": hiddenFile, plainFile + "-renamed": plainFile, "git-old": ".git", ".git/hooks-old": ".git/hooks"} {
		os.Rename(filepath.Join(s.Dir, from), filepath.Join(s.Dir, to))
	}
	if err := furnish(s.Dir); err != nil {
		panic(err)
	}
}
