package daemon

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/stage"
)

// overLimit says which limit a command ran into, with the peak and, where the
// kernel says so, by whom. A command that ended well in spite of one hears of it
// too.
func (x *execution) overLimit(exit *api.Exit) {
	limits, used := x.plan.Spec.Limits, x.j.env.group.Usage()
	used.OOMKills -= x.before.OOMKills
	used.PidsDenied -= x.before.PidsDenied
	switch {
	case limits.Memory > 0 && used.OOMKills > 0:
		exit.Limits = "memory"
		exit.Reason = fmt.Sprintf("killed: memory limit %s%s, peak %s", jail.FormatSize(limits.Memory), besides(limits.Swap), jail.FormatSize(used.MemoryPeak))
		if name := x.j.env.group.Killed(); name != "" {
			exit.Reason += ", by " + audit.Escape(name)
		}
		exit.Fix = "--memory " + twice(limits.Memory)
	case limits.Pids > 0 && used.PidsDenied > 0:
		exit.Limits = "pids"
		exit.Reason = fmt.Sprintf("refused %d times to start a process: limit %d processes", used.PidsDenied, limits.Pids)
		exit.Fix = fmt.Sprintf("--pids %d", 2*limits.Pids)
	case limits.FileSize > 0 && exit.Code == tooLarge:
		exit.Limits = "file_size"
		exit.Reason = fmt.Sprintf("killed: a file was to be larger than the limit of %s", jail.FormatSize(limits.FileSize))
		exit.Fix = "limits: {file_size: " + mebibytes(2*limits.FileSize) + "}"
	default:
		full, ok := x.space.Full()
		if !ok || exit.Code == 0 { // it had what it needed
			return
		}
		exit.Limits = "scratch"
		exit.Reason, exit.Fix = noRoom(full)
	}
	x.limited(exit)
	if exit.Code == 0 {
		exit.Reason, exit.Fix = "", ""
	}
}

// noRoom says what was full when a command failed. Whether that was why, nobody but
// the command knows.
func noRoom(f stage.Full) (reason, fix string) {
	at := audit.Escape(f.At)
	switch {
	case f.Names > 0:
		return fmt.Sprintf("%s is full: it holds %d files, which is the limit", at, f.Names), ""
	case f.At == "/dev/shm": // the same size in every jail
		return fmt.Sprintf("%s is full: limit %s", at, jail.FormatSize(f.Size)), ""
	}
	return fmt.Sprintf("%s is full: scratch limit %s", at, jail.FormatSize(f.Size)),
		"limits: {scratch: " + mebibytes(2*f.Size) + "}"
}

// mebibytes is a number of bytes as a policy takes it, rounded up.
func mebibytes(n int64) string { return fmt.Sprintf("%dMiB", (n+1<<20-1)>>20) }

// tooLarge is how a command ends that wrote past the largest file it may have, and a
// shell that ran it.
const tooLarge = 128 + int(unix.SIGXFSZ)

// besides says how much swap there is besides the memory.
func besides(swap int64) string {
	if swap == 0 {
		return ""
	}
	return " and " + jail.FormatSize(swap) + " of swap"
}

// limited records that a command ran into a limit, and says so with the record's
// id.
func (x *execution) limited(exit *api.Exit) {
	exit.Fix = x.j.fixFor(exit.Fix)
	fix := exit.Fix
	if strings.Contains(fix, "--") {
		fix += ", or limits: in the policy, which a flag only narrows"
	}
	rec := audit.Record{
		Kind: audit.KindDenial, Decision: audit.Deny, Code: string(audit.CodeLimit), Jail: x.j.id.String(), UID: x.j.owner,
		Policy: x.plan.Spec.Policy.Name, Origin: x.plan.Spec.Policy.Origin, Argv0: audit.Escape(string(x.plan.Argv[0])),
		Reason: exit.Reason, Fix: fix,
	}
	if written, err := x.m.auditor.own(rec); err == nil {
		rec = written
	}
	x.events.send(api.Event{Denied: &api.Denied{ID: rec.ID, Kind: "limit", What: exit.Limits + ": " + exit.Reason, Fix: exit.Fix, Text: exit.Reason}})
}

// twice is double a number of bytes, as a flag takes it.
func twice(n int64) string {
	const mib, gib = 1 << 20, 1 << 30
	n = (2*n + mib - 1) / mib * mib
	if n%gib == 0 {
		return fmt.Sprintf("%dg", n/gib)
	}
	return fmt.Sprintf("%dm", n/mib)
}
