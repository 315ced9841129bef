package confine

import (
	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/landlock"
)

// restrict adds Landlock as the second wall, to this thread and what it executes:
// the visible directories may be read, the executable executed, no port bound.
// Connecting is the process's work and stays free. A kernel without Landlock has
// the mount namespace and the filter of system calls only, which doctor reports.
func restrict() error {
	return landlock.Lower(wall(), landlock.ABI()).Restrict()
}

func wall() landlock.Wall {
	w := landlock.Wall{
		Files: true, NoListen: true,
		Open: []landlock.Descriptor{{FD: exeFD, Rights: child.PlaceRead | child.PlaceExecute}},
	}
	for _, dir := range visible {
		w.Places = append(w.Places, child.Place{Path: dir, Rights: child.PlaceRead})
	}
	return w
}
