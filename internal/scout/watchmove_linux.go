package scout

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// Bounds of one command.
const (
	maxMoved = 32 // names moved out of the way; more is a command that tries again and again
	maxSeen  = 64 // names reported and left, and as many again of those that run nothing yet
)

// quarantined stands in the new name of a file: no program outside looks for one
// that is called so, and a person who does sees what it was.
const quarantined = ".omnijail-quarantine-"

// condemn deals with a name that does harm: the command stands still, the name is
// moved out of the way, and the command goes on when all is settled.
func (w *watcher) condemn(n *node, dir *os.File, name string, class child.WatchClass) error {
	path := n.path(name)
	if w.ask.Detect || class == child.ClassNotable {
		seen := &w.seen
		if class == child.ClassNotable { // they do not use up what is for those that run
			seen = &w.notable
		}
		if *seen++; *seen > maxSeen+1 {
			return nil
		}
		if *seen > maxSeen {
			path = "" // and more
		}
		return w.say(child.WatchFrame{Kind: child.WatchSeen, Class: class, Path: path})
	}
	if err := w.stop(class, path); err != nil {
		return err
	}
	if w.moved++; w.moved > maxMoved {
		return failure(child.ClassTooMany)
	}
	to, err := moveAside(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		if err := w.say(child.WatchFrame{Kind: child.WatchStuck, Class: class, Path: path}); err != nil {
			return err
		}
		return failure(class)
	}
	return w.say(child.WatchFrame{Kind: child.WatchMoved, Class: class, Path: path, To: n.path(to)})
}

// moveAside renames a file within its directory, so that it stays on its file
// system and with whoever may read it.
func moveAside(dir *os.File, name string) (to string, err error) {
	var random [4]byte
	rand.Read(random[:])
	to = quarantined + hex.EncodeToString(random[:])
	to = name[:min(len(name), unix.NAME_MAX-len(to))] + to
	fd := int(dir.Fd())
	err = unix.Renameat2(fd, name, fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) { // a file system that cannot promise it
		err = unix.Renameat(fd, name, fd, to)
	}
	return to, err
}
