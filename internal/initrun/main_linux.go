package initrun

import (
	"errors"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seccomp"
)

const exitFailed = 125

// Main runs the verb with its arguments and returns the exit code of a failure;
// on success it does not return. The calling goroutine must be locked to the
// process's main thread.
func Main(args []string) int {
	// Until execve nobody with the caller's uid may look into this process.
	if err := prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != 0 {
		return exitFailed
	}
	if len(args) != 1 && len(args) != 2 {
		return exitFailed
	}
	ch, err := strconv.Atoi(args[0])
	if err != nil {
		return exitFailed
	}
	c := channel(ch)
	if failed := prepare(args[1:]); failed != nil {
		c.fail(failed)
		return exitFailed
	}
	files, ok := c.ready()
	if !ok {
		return exitFailed
	}
	c.fail(run(files, len(args) > 1))
	return exitFailed
}

// prepare takes the steps that are the same for every command, before there is one:
// it may be long until then, and short after. The filter is the last, for it refuses
// some of the others.
func prepare(filter []string) *child.StartError {
	if failed := disinherit(); failed != nil {
		return failed
	}
	if errno := prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); errno != 0 {
		return fail(child.StepWall, errno, "no_new_privs")
	}
	if len(filter) == 0 {
		return nil
	}
	return install(seccomp.Named(filter[0]))
}

// run takes the steps and returns the one that failed. files came with the go;
// filtered says that the filter has been installed.
func run(files []int, filtered bool) *child.StartError {
	l, failed := readLaunch(files[0])
	if failed == nil {
		failed = number(l, files)
	}
	if failed == nil && !filtered && l.Wall != child.WallNone {
		failed = fail(child.StepFilter, unix.EINVAL, "none was named")
	}
	if failed != nil {
		return failed
	}
	steps := []func(*child.Launch) *child.StartError{
		reset, becomeCaller, verify, wall, database, restrict, stdio, enter,
	}
	for _, step := range steps {
		if failed := step(l); failed != nil {
			return failed
		}
	}
	return execute(l)
}

// readLaunch reads the whole record from its start.
func readLaunch(fd int) (*child.Launch, *child.StartError) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fail(child.StepLaunch, err, "stat")
	}
	if st.Size > child.MaxLaunch {
		return nil, fail(child.StepLaunch, unix.EFBIG, "launch record")
	}
	b := make([]byte, st.Size)
	for at := 0; at < len(b); {
		n, err := unix.Pread(fd, b[at:], int64(at))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, fail(child.StepLaunch, err, "read")
		}
		at += n
	}
	l, err := child.DecodeLaunch(b)
	if err != nil {
		return nil, fail(child.StepLaunch, unix.EINVAL, err.Error())
	}
	return l, nil
}

// number turns the record's numbers of files into descriptors.
func number(l *child.Launch, files []int) *child.StartError {
	numbers := []*int{&l.Stdio[0], &l.Stdio[1], &l.Stdio[2]}
	if l.Observer != 0 {
		numbers = append(numbers, &l.Observer)
	}
	for _, n := range numbers {
		switch {
		case *n >= len(files):
			return fail(child.StepLaunch, unix.EBADF, "a file of the record's has not come with it")
		case *n >= 0:
			*n = files[*n]
		}
	}
	return nil
}

// execute replaces the process. Everything but 0, 1 and 2 closes with it, the
// channel too, which tells the daemon that the command runs.
func execute(l *child.Launch) *child.StartError {
	if err := unix.CloseRange(3, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fail(child.StepExec, err, "close_range")
	}
	if failed := resetSignals(); failed != nil {
		return failed
	}
	// syscall.Exec waits for the runtime to finish starting threads; a bare
	// execve in that moment fails with EAGAIN.
	err := syscall.Exec(l.Exec, text(l.Argv), text(l.Env))
	return fail(child.StepExec, err, l.Exec)
}

func text(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

// fail makes the report. An error that carries no errno counts as EIO.
func fail(step child.Step, err error, what string) *child.StartError {
	var no syscall.Errno
	if !errors.As(err, &no) || no == 0 {
		no = unix.EIO
	}
	return &child.StartError{Stage: step, Errno: no, Text: what}
}

// prctl acts on the calling thread alone.
func prctl(option int, a2, a3, a4, a5 uintptr) syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, uintptr(option), a2, a3, a4, a5, 0)
	return errno
}
