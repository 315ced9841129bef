package daemon

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/stage"
)

// processors are those that the jail's commands start on: as many as its limit
// would keep busy, so that programs which count them make no more threads and
// workers than can run. They are nil where that is all that there are. Jails start
// on different ones.
func (j *liveJail) processors() []uint32 {
	limit := j.spec().Limits.CPU
	var usable unix.CPUSet
	if limit == 0 || unix.SchedGetaffinity(0, &usable) != nil {
		return nil
	}
	return choose(listed(&usable), limit, j.id)
}

// choose takes as many neighbours of all, in a ring, as limit has begun: thousandths
// of a processor.
func choose(all []uint32, limit int64, id jail.ID) []uint32 {
	n := int((limit + 999) / 1000)
	if n >= len(all) {
		return nil
	}
	h := fnv.New32a()
	h.Write([]byte(id.String()))
	first := int(h.Sum32() % uint32(len(all)))
	if first+n <= len(all) {
		return all[first : first+n]
	}
	return append(append([]uint32{}, all[:first+n-len(all)]...), all[first:]...)
}

func listed(set *unix.CPUSet) (out []uint32) {
	for i, left := 0, set.Count(); left > 0; i++ {
		if set.IsSet(i) {
			out, left = append(out, uint32(i)), left-1
		}
	}
	return out
}

// onlineFile says how many processors a machine has to programs that do not ask what
// they may use, such as Python before 3.13.
const (
	processorsDir = "/sys/devices/system/cpu"
	onlineFile    = processorsDir + "/online"
	ownOnlineFile = "/run/omnijail/processors"
)

// showProcessors puts a list of these in the place of the node's.
func showProcessors(l *stage.Layout, numbers []uint32) {
	shown := slices.ContainsFunc(l.System, func(s stage.System) bool { return s.Path == processorsDir && s.Link == "" })
	if len(numbers) == 0 || !shown {
		return
	}
	l.Files = append(l.Files, stage.File{Path: ownOnlineFile, Data: []byte(processorList(numbers) + "\n"), Mode: 0o444})
	l.Covers = append(l.Covers, stage.Cover{Path: onlineFile, File: ownOnlineFile})
}

// processorList says which these are, as the kernel's files do: 0,2,3.
func processorList(numbers []uint32) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ",")
}
