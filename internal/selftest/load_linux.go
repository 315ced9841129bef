package selftest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/creack/pty"
)

// load gives the client of a group's jail what the group is about: a terminal, or
// variables and descriptors that must stay outside. Every other has the
// credential in its environment.
func (n *node) load(g group, cmd *exec.Cmd) (release func(), err error) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	switch g {
	case carried:
		return n.loadCarried(cmd)
	case terminal:
		master, slave, err := pty.Open()
		if err != nil {
			return nil, err
		}
		cmd.Stdin = slave
		return func() { errors.Join(slave.Close(), master.Close()) }, nil
	}
	cmd.Env = append(cmd.Env, tokenSource+"="+n.secret)
	return func() {}, nil
}

func (n *node) loadCarried(cmd *exec.Cmd) (release func(), err error) {
	for _, name := range carriedNames {
		cmd.Env = append(cmd.Env, name+"=/nonexistent/"+Marker)
	}
	secret, err := os.Open(n.site.Secret)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(n.dir, "log"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, errors.Join(err, secret.Close())
	}
	release = func() { errors.Join(secret.Close(), log.Close()) }
	_, err = log.WriteString(Marker + " a line of the client's\n")
	_, back := log.Seek(0, 0)
	if err := errors.Join(err, back); err != nil {
		release()
		return nil, err
	}
	cmd.ExtraFiles = append(make([]*os.File, carriedFD-3), secret, log)
	cmd.Stderr = log
	return release, nil
}
