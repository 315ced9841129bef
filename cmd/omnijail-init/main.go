// It starts for one short task: a quota of processors is not worth its search.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command omnijail-init is the small static program that the daemon starts for
// what it must not do itself: work as the caller, inside a cage or inside a
// jail. It is executed from a sealed memory file, never by a user.
package main

import (
	"os"
	"runtime"

	"github.com/omnijail/omnijail/internal/confine"
	"github.com/omnijail/omnijail/internal/initrun"
	"github.com/omnijail/omnijail/internal/reaper"
	"github.com/omnijail/omnijail/internal/scout"
)

// The identity of a process is dropped thread by thread; everything here happens
// on the main one, which must stay the goroutine's.
func init() { runtime.LockOSThread() }

const exitUsage = 125

var verbs = map[string]func(args []string) int{
	"open":    scout.Main,
	"confine": confine.Main,
	"run":     initrun.Main,
	"reap":    reaper.Main,
}

func main() {
	if len(os.Args) < 2 {
		os.Exit(exitUsage)
	}
	verb, ok := verbs[os.Args[1]]
	if !ok {
		os.Exit(exitUsage)
	}
	os.Exit(verb(os.Args[2:]))
}
