package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/omnijail/omnijail/api"
)

// explainDial says why nobody answers at a socket.
func explainDial(e *api.DialError) (reason, fix string) {
	named := namer(e.Socket)
	switch {
	case errors.Is(e, fs.ErrNotExist), errors.Is(e, syscall.ECONNREFUSED):
		if fix = "sudo systemctl enable --now omnijaild.socket"; named != "" {
			fix = named + ", or start omnijaild with --socket and the same path"
		}
		return fmt.Sprintf("cannot reach omnijaild at %s: it is not running", e.Socket), fix
	case errors.Is(e, fs.ErrPermission):
		group := cmp.Or(groupOf(e.Socket), "omnijail")
		// A file of the workspace may have set the variable, to have the user join the
		// group of another service.
		if fix = named; !fromEnvironment(e.Socket) {
			fix = fmt.Sprintf("sudo usermod -aG %s $USER, then log in again (in this shell: newgrp %[1]s)", group)
		}
		return fmt.Sprintf("you may not use omnijaild: its socket is for group %q and you are not in it", group), fix
	}
	if fromEnvironment(e.Socket) {
		return e.Error(), named
	}
	return e.Error(), ""
}

// namer says how to get rid of what names a socket that is not the usual one, empty
// where it is.
func namer(socket string) string {
	switch {
	case fromEnvironment(socket):
		return "unset OMNIJAIL_SOCKET, which names this socket"
	case socket != api.DefaultSocket:
		return "leave --socket away"
	}
	return ""
}

func fromEnvironment(socket string) bool { return os.Getenv("OMNIJAIL_SOCKET") == socket }

// groupOf is the group that root has given a socket to, empty where that is not
// known.
func groupOf(socket string) string {
	fi, err := os.Stat(socket)
	if err != nil {
		return ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 || st.Gid == 0 {
		return ""
	}
	id := strconv.FormatUint(uint64(st.Gid), 10)
	if g, err := user.LookupGroupId(id); err == nil {
		return g.Name
	}
	return id
}
