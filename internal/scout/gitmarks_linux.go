package scout

import (
	"path"
	"strings"
)

// gitPart says where in a git directory a folder lies.
type gitPart uint8

const (
	gitInside     gitPart = 1 + iota // in one
	gitContainers                    // below its modules or worktrees: what is there are git directories
)

// gitMarks are the names by which a directory is known as git's.
type gitMarks uint8

const (
	markHead gitMarks = 1 << iota
	markObjects
	markRefs
	markCommon
	markOther
)

// gitProtected are the names at the top of a git directory that make git run a
// program at the next command outside, or look for its configuration elsewhere.
var gitProtected = map[string]bool{
	"config": true, "config.worktree": true, "hooks": true, "commondir": true, "gitdir": true, "sequencer": true,
}

// take notes a name, and reports whether it matters in a git directory.
func (m *gitMarks) take(name []byte, kind byte) bool {
	switch string(name) {
	case "HEAD":
		*m |= markHead
	case "objects":
		*m |= markObjects
	case "refs":
		*m |= markRefs
	case "info":
		return true
	case "commondir":
		*m |= markCommon
		return true
	default:
		if gitProtected[string(name)] {
			*m |= markOther
			return true
		}
		return strings.HasPrefix(string(name), "rebase-")
	}
	return false
}

// gitDir reports whether the directory p with these names is git's, or was and
// can be again: a command could have taken HEAD away to put it back later.
func (m gitMarks) gitDir(p folder) bool {
	switch {
	case path.Base(p.name) == ".git":
		return true
	case p.git == gitContainers && m&(markHead|markCommon|markOther) != 0:
		return true
	case m&markHead != 0:
		return m&(markObjects|markRefs|markCommon) != 0
	}
	return m&markObjects != 0 && m&markRefs != 0
}

// gitBelow says of the directories below p what they are to git, and leaves out
// the objects: many directories, of which none is ever read as a repository.
func gitBelow(below []folder, p folder, isGit bool) []folder {
	if !isGit && p.git == 0 {
		return below
	}
	kept := below[:0]
	for _, b := range below {
		base := path.Base(b.name)
		switch {
		case isGit && base == "objects", p.git == gitInside && base == "objects" && path.Base(p.name) == "lfs":
			continue
		case isGit && gitProtected[base]:
			continue // read-only as a whole
		case isGit && (base == "modules" || base == "worktrees"), !isGit && p.git == gitContainers:
			b.git = gitContainers
		default:
			b.git = gitInside
		}
		kept = append(kept, b)
	}
	return kept
}
