package child

import (
	"encoding/binary"
	"errors"
	"syscall"
)

// Step is the part of omnijail-init run that failed. It travels as one byte.
type Step uint8

// The steps, in the order in which init takes them.
const (
	StepLaunch   Step = 1 + iota // the launch record could not be read
	StepReset                    // limits, priorities, signals, keyring
	StepIdentity                 // groups, ids, capabilities
	StepVerify                   // the identity read back is not the one asked for
	StepWall                     // no_new_privs and Landlock
	StepFilter                   // seccomp
	StepStdio                    // standard descriptors and the terminal
	StepChdir                    // the working directory
	StepExec                     // the final execve
)

var stepNames = [...]string{
	StepLaunch: "reading the launch record", StepReset: "resetting inherited state",
	StepIdentity: "becoming the caller", StepVerify: "verifying the dropped privileges",
	StepWall: "walling off what was not granted", StepFilter: "installing the system call filter", StepStdio: "setting up standard descriptors",
	StepChdir: "entering the working directory", StepExec: "executing the command",
}

// String says what init was doing, as a phrase for an error.
func (s Step) String() string {
	if int(s) < len(stepNames) && stepNames[s] != "" {
		return stepNames[s]
	}
	return "an unknown step"
}

// StartError says why the command did not start. Text is what it concerned, at
// most MaxStartText bytes, as init wrote it: escape it before printing.
type StartError struct {
	Stage Step
	Errno syscall.Errno
	Text  string
}

// MaxStartText bounds StartError.Text in bytes.
const MaxStartText = 512

func (e *StartError) Error() string {
	return e.Stage.String() + ": " + e.Text + ": " + e.Errno.Error()
}

// Unwrap returns the errno.
func (e *StartError) Unwrap() error { return e.Errno }

// Exit returns the exit code by the shells' convention: 127 when the command
// does not exist, 126 when it cannot be executed, 125 when the jail failed.
func (e *StartError) Exit() int {
	if e.Stage != StepExec {
		return 125
	}
	switch e.Errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		return 127
	case syscall.EACCES, syscall.ENOEXEC, syscall.EISDIR, syscall.EPERM, syscall.ETXTBSY, syscall.ELOOP:
		return 126
	}
	return 125
}

// MaxStartPacket bounds an encoded StartError in bytes.
const MaxStartPacket = startHeader + MaxStartText

const startHeader = 1 + 1 + 4 // 'E', stage, errno

// EncodeStartError returns e as init sends it: 'E', the step, the errno as four
// bytes big-endian, and the text, cut to MaxStartText.
func EncodeStartError(e *StartError) []byte {
	text := e.Text
	if len(text) > MaxStartText {
		text = text[:MaxStartText]
	}
	b := put32([]byte{'E', byte(e.Stage)}, uint32(e.Errno))
	return append(b, text...)
}

// DecodeStartError is the inverse of EncodeStartError.
func DecodeStartError(b []byte) (*StartError, error) {
	if len(b) < startHeader || len(b) > MaxStartPacket || b[0] != 'E' {
		return nil, errors.New("not a failure report of init")
	}
	return &StartError{
		Stage: Step(b[1]),
		Errno: syscall.Errno(binary.BigEndian.Uint32(b[2:])),
		Text:  string(b[startHeader:]),
	}, nil
}
