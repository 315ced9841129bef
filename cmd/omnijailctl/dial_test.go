package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/omnijail/omnijail/api"
)

// What helps depends on who named the socket, and on whom it is for.
func TestADialThatFailsIsExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 0, 4242); err != nil { // no group of that number has a name
		t.Fatal(err)
	}
	usual := api.DefaultSocket
	for _, c := range []struct {
		socket, variable string
		err              error
		reason, fix      string
	}{
		{usual, "", fs.ErrNotExist, "cannot reach omnijaild at " + usual + ": it is not running", "sudo systemctl enable --now omnijaild.socket"},
		{usual, "/other", syscall.ECONNREFUSED, "it is not running", "sudo systemctl enable --now omnijaild.socket"},
		{"/x/s", "", fs.ErrNotExist, "omnijaild at /x/s", "leave --socket away, or start omnijaild with --socket and the same path"},
		{"/x/s", "/x/s", fs.ErrNotExist, "omnijaild at /x/s", "unset OMNIJAIL_SOCKET, which names this socket, or start omnijaild with --socket and the same path"},
		{"/none/s", "", fs.ErrPermission, `for group "omnijail" and`, "sudo usermod -aG omnijail $USER, then log in again (in this shell: newgrp omnijail)"},
		{file, "", fs.ErrPermission, `for group "4242" and`, "sudo usermod -aG 4242 $USER, then log in again (in this shell: newgrp 4242)"},
		{file, file, fs.ErrPermission, `for group "4242" and`, "unset OMNIJAIL_SOCKET, which names this socket"},
	} {
		t.Setenv("OMNIJAIL_SOCKET", c.variable)
		reason, fix := explainDial(&api.DialError{Socket: c.socket, Err: c.err})
		if !strings.Contains(reason, c.reason) || fix != c.fix {
			t.Errorf("%s, named by %q: %s\nhint: %s", c.socket, c.variable, reason, fix)
		}
	}
}
