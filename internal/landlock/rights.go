package landlock

import (
	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/omnijail/omnijail/internal/child"
)

// meanings are the kernel's rights behind our words. Nobody may make device
// nodes. Moving between directories and truncating are part of every change:
// without them git, npm and cargo fail half-way.
var meanings = [...]struct {
	right child.Rights
	set   landlock.AccessFSSet
}{
	{child.PlaceList, ll.AccessFSReadDir},
	{child.PlaceRead, ll.AccessFSReadFile | ll.AccessFSReadDir},
	{child.PlaceExecute, ll.AccessFSExecute},
	{child.PlaceUse, ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev},
	{child.PlaceChange, ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeFifo | ll.AccessFSMakeSock |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir},
}

// ofFiles are the rights that a rule on something that is no directory may hold.
const ofFiles = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev

// access returns what the kernel calls r.
func access(r child.Rights, file bool) landlock.AccessFSSet {
	var set landlock.AccessFSSet
	for _, m := range meanings {
		if r&m.right != 0 {
			set |= m.set
		}
	}
	if file {
		set &= ofFiles
	}
	return set
}
