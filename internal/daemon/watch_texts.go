package daemon

import (
	"errors"
	"fmt"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/child"
)

// maxNamed bounds what a scout may report of one command. It stops before.
const maxNamed = 256

// runsOutside says why a name of a class was not left, or is worth a look.
var runsOutside = map[child.WatchClass]string{
	child.ClassCommonDir:  "git outside would take its configuration from where it leads",
	child.ClassConfig:     "git outside would run a program that this configuration names",
	child.ClassHook:       "git outside would run it",
	child.ClassAttributes: "git outside would apply filters to files because of it",
	child.ClassTodo:       "git rebase --continue outside would run the command in it",
	child.ClassPointer:    "git outside would take a directory for its own that is not watched",
	child.ClassIncluded:   "git outside reads it as a part of its configuration",
	child.ClassControl:    "a program outside runs what it says when you open or enter the folder",
	child.ClassAsked:      "the policy protects it",
	child.ClassNotable:    "a tool outside takes settings from it",
}

// named records a name that the scout has found and shows it to the client.
func (x *execution) named(f child.WatchFrame) error {
	if x.found++; x.found > maxNamed {
		return errors.New("too many names")
	}
	path, why := audit.Escape(f.Path), runsOutside[f.Class]
	rec := audit.Record{Code: string(audit.CodeNewName), Path: path}
	switch {
	case f.Class == child.ClassReplaced:
		x.replaced([]string{f.Path}, nil)
		return nil
	case f.Kind == child.WatchMoved:
		to := audit.Escape(f.To)
		rec.Reason = fmt.Sprintf("%s was made in the jail and moved out of the way, to %s: %s", path, to, why)
		rec.Fix = "look at it; mv " + audit.ShellQuote(f.To) + " " + audit.ShellQuote(f.Path) + " puts it back"
	case f.Kind == child.WatchStuck:
		rec.Reason = fmt.Sprintf("%s was made in the jail and could not be moved out of the way: %s", path, why)
		rec.Fix = "look at it, and remove it, before anything else"
	case f.Path == "":
		rec.Reason = "more names were made in the jail than are told of one by one: " + why
		rec.Fix = "look through `git status --ignored` from a jail before you go on"
	default:
		rec.Reason = fmt.Sprintf("%s was made in the jail: %s", path, why)
		rec.Fix = "look at it before you go on"
	}
	x.tell(rec)
	return nil
}

// unwatched says why a scout has failed.
func unwatched(f child.WatchFrame) string {
	switch f.Class {
	case child.ClassTooMany:
		return "it made files that run by themselves outside again and again, or names faster than they can be watched"
	case child.ClassLimit:
		return "new files cannot be watched: the kernel lets you watch no more folders, or start no more watches"
	case child.ClassBroken, child.ClassNone:
		return "new files cannot be watched: " + audit.Escape(f.Path)
	}
	return "a new file that runs by itself outside could not be moved out of the way"
}

func watchFix(f child.WatchFrame) string {
	if f.Class == child.ClassLimit {
		return "sysctl fs.inotify.max_user_watches fs.inotify.max_user_instances with more; or grant less for writing"
	}
	return ""
}
