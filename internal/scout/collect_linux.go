package scout

import (
	"os"
	"slices"
)

// collect puts what is known together. What was known before a walk has not counted,
// and each name is looked up again: it may have gone.
func (s *survey) collect(f *finder, before bool) error {
	c := collector{f: f, before: before}
	if s.top == nil {
		return nil
	}
	return c.take(s.top, ".", 0)
}

type collector struct {
	f       *finder
	before  bool
	entries int64
}

func (c *collector) take(p *surveyed, rel string, depth int) error {
	f := c.f
	if c.entries += p.entries; c.before && c.entries > f.walk.maxEntries {
		return errTooMany
	}
	if c.before && depth > f.walk.maxDepth {
		return &os.PathError{Op: "walk", Path: rel, Err: errTooDeep}
	}
	at := folder{name: rel}
	f.named = c.names(f.named, at, p.named)
	f.files = c.names(f.files, at, p.files)
	f.doors = c.names(f.doors, at, p.doors)
	if p.isGit {
		f.git = append(f.git, gitDir{rel, slices.DeleteFunc(slices.Clone(p.git), func(n string) bool { return !c.there(at.in(n)) })})
	}
	for name, b := range p.below {
		n := at.in(name)
		if f.leaves(n) {
			continue
		}
		if err := c.take(b, n, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) names(to []string, at folder, names []string) []string {
	for _, name := range names {
		if n := at.in(name); !c.f.leaves(n) && c.there(n) {
			to = append(to, n)
		}
	}
	return to
}

func (c *collector) there(n string) bool {
	if !c.before {
		return true
	}
	_, err := lstat(c.f.grant.file, n)
	return !absent(err)
}
