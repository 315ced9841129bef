package child

import (
	"encoding/binary"
	"errors"
)

// WatchRequest asks a scout to watch for new names while a command runs. One
// O_PATH descriptor follows for each root. Then the two exchange WatchFrames and
// orders of one byte.
type WatchRequest struct {
	// Detect leaves new names where they are and reports them.
	Detect bool `json:"detect,omitempty"`
	// GitConfig leaves the configuration of git directories that were there before
	// to the command.
	GitConfig bool `json:"git_config,omitempty"`
	// Restage has the watch go on after a kept name was made anew outside, once it
	// has OrderRestaged.
	Restage bool        `json:"restage,omitempty"`
	Home    string      `json:"home"`              // of the caller, for ~ in a git configuration
	Protect []string    `json:"protect,omitempty"` // patterns that the policy protects besides
	Roots   []WatchRoot `json:"roots"`
}

// WatchRoot is a granted directory.
type WatchRoot struct {
	Path  string `json:"path"` // canonical
	Write bool   `json:"write"`
	// Kept are the names below it that are mounts in the jail: it can neither
	// make nor replace them.
	Kept Names `json:"kept,omitempty"`
	// Open are those of Kept that the jail may write below.
	Open Names `json:"open,omitempty"`
}

// The orders of the daemon to a scout that watches.
const (
	OrderFrozen   = 'F' // the command stands still, as asked for by an alarm
	OrderRestaged = 'R' // what covered a kept name is there again
	OrderEnd      = 'E' // the command has ended: look a last time
)

// WatchKind is what a frame of a scout's says.
type WatchKind uint8

// The kinds.
const (
	WatchReady  WatchKind = 1 + iota // all that has to be watched from the start is
	WatchAlarm                       // stop the command
	WatchMoved                       // Path was renamed to To, which nothing runs
	WatchSeen                        // Path was left where it is; empty for more that are not told of
	WatchStuck                       // Path could not be moved
	WatchCalm                        // the command may go on
	WatchFailed                      // nothing can be promised any more
	WatchDone                        // looked a last time
	WatchStays                       // likewise, and waits for the caller's next request
	watchKinds
)

// WatchClass is what a name is, or why a scout has failed.
type WatchClass uint8

// The classes.
const (
	ClassNone       WatchClass = iota
	ClassReplaced              // a kept name was made anew outside
	ClassCommonDir             // git reads another configuration
	ClassConfig                // a git configuration that runs a program, or may
	ClassHook                  // a git hook
	ClassAttributes            // a file that puts git's filters to use
	ClassTodo                  // a list of a rebase with a command in it
	ClassPointer               // a .git that leads where it must not
	ClassIncluded              // a file that an existing git configuration includes
	ClassControl               // a control file of a program outside
	ClassNotable               // one that runs nothing before somebody says so
	ClassAsked                 // a name that the policy protects
	ClassTooMany               // names without end
	ClassLimit                 // a limit of the kernel's on watches
	ClassBroken                // anything else
	watchClasses
)

// WatchFrame is one packet of a scout's: kind, class, and two opaque strings,
// each behind its length.
type WatchFrame struct {
	Kind  WatchKind
	Class WatchClass
	Path  string // at most MaxWatchText bytes
	To    string // likewise
}

// Bounds of a frame in bytes.
const (
	MaxWatchText  = 4096 + 256
	MaxWatchFrame = 2 + 2*(2+MaxWatchText)
)

var errWatchFrame = errors.New("malformed frame of a watching scout")

// EncodeWatch returns f as a packet. A string that is too long is cut.
func EncodeWatch(f WatchFrame) []byte {
	b := []byte{byte(f.Kind), byte(f.Class)}
	for _, s := range []string{f.Path, f.To} {
		s = s[:min(len(s), MaxWatchText)]
		b = append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	return b
}

// DecodeWatch is the strict inverse.
func DecodeWatch(b []byte) (f WatchFrame, err error) {
	if len(b) < 2 || b[0] == 0 || b[0] >= byte(watchKinds) || b[1] >= byte(watchClasses) {
		return f, errWatchFrame
	}
	f.Kind, f.Class = WatchKind(b[0]), WatchClass(b[1])
	b = b[2:]
	for _, s := range []*string{&f.Path, &f.To} {
		if len(b) < 2 {
			return f, errWatchFrame
		}
		n := int(binary.LittleEndian.Uint16(b))
		if b = b[2:]; n > len(b) || n > MaxWatchText {
			return f, errWatchFrame
		}
		*s, b = string(b[:n]), b[n:]
	}
	if len(b) > 0 {
		return f, errWatchFrame
	}
	return f, nil
}
