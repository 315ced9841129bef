package scout

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// daemonFD is the descriptor that a scout starts with.
const daemonFD = 3

// exitFailed is the exit code after a failure that could not be reported.
const exitFailed = 125

// Main runs a scout to its end. It takes no arguments: everything comes in the
// first packet. The result is 0 when an answer was sent, whatever it says.
func Main(args []string) int {
	runtime.LockOSThread() // no_new_privs is a thread's, and children start from this one
	conn := seqpacket.New(os.NewFile(daemonFD, "daemon"))
	// What was inherited stays here: a source command gets none of it.
	if err := unix.CloseRange(daemonFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil || len(args) != 0 {
		return exitFailed
	}
	// It may have been started ahead of time, and wait as root.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return exitFailed
	}
	own := openFiles()
	var ask child.ScoutAsk
	files, err := conn.Recv(&ask)
	if err != nil {
		return exitFailed
	}
	if err := serve(conn, ask, files, own); err != nil && !errors.Is(err, io.EOF) {
		return exitFailed
	}
	return 0
}

// serve answers one ask. Its error means that no answer could be sent. own are the
// descriptors from before it.
func serve(conn *seqpacket.Conn, ask child.ScoutAsk, files []*os.File, own map[int]string) error {
	err := checkAsk(ask)
	if err == nil {
		err = become(ask.As)
	}
	if err == nil && (ask.Open != nil || ask.Cache != nil || ask.Restore != nil) {
		err = narrow()
	}
	switch {
	case ask.Source != nil:
		return serveSource(conn, *ask.Source, files, err)
	case ask.Observe != nil:
		return serveObserve(conn, *ask.Observe, files, err)
	case ask.Pump != nil:
		return servePump(conn, *ask.Pump, files, err)
	case ask.Gate != nil:
		return serveGate(conn, *ask.Gate, files, err)
	case ask.Cache != nil:
		return serveCache(conn, *ask.Cache, files, err)
	case ask.Restore != nil:
		return serveRestore(conn, ask.Restore, files, err)
	case err != nil:
		return conn.Send(child.OpenReply{Err: refusal(err)})
	}
	if ask.Open == nil {
		return errors.New("asked first for what comes later")
	}
	return serveOpen(conn, ask, files, own)
}

// refusal puts any error into the shape of the API's own.
func refusal(err error) *child.OpenError {
	if e, ok := errors.AsType[*child.OpenError](err); ok {
		return e
	}
	return &child.OpenError{Code: "open_failed", Exit: exitFailed, Reason: err.Error()}
}

// refuse makes an error of exit code 125.
func refuse(code, format string, args ...any) *child.OpenError {
	return &child.OpenError{Code: code, Exit: exitFailed, Reason: fmt.Sprintf(format, args...)}
}
