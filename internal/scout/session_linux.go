package scout

import (
	"os"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// session is one open request on its way to an answer.
type session struct {
	ask    child.ScoutAsk
	req    *child.OpenRequest
	desk   *desk
	client []*os.File // the client's connection, when it passes descriptors
	mounts mounts
	cwd    string   // canonical
	grants []*grant // sorted by path, so that parents are mounted first
	pins   []pin
	// What is protected for its name or path, and the paths that are granted.
	control, asked patterns
	granted        map[string]bool
	hidden, masked []string
	notes          []string
	exposed        []string // roots of toolchains that no policy granted
	linked         map[inode]linked
	shared         []string // directories of files that have other names
	doors          []string // hidden Unix sockets and FIFOs
}

// serve answers an open request, then resolves names below staged trees. Nothing
// that it opened is open when it returns. going is false after a refusal.
func (s *session) serve(conn *seqpacket.Conn) (going bool, err error) {
	reply, files, err := s.open()
	if err != nil {
		return false, conn.Send(child.OpenReply{Err: refusal(err)})
	}
	defer seqpacket.CloseAll(files)
	seqpacket.CloseAll(s.client)
	if err := conn.Send(reply, files...); err != nil {
		return false, err
	}
	trees, err := conn.Recv(&child.ScoutNames{})
	if err != nil {
		return false, err
	}
	defer seqpacket.CloseAll(trees)
	return s.answerNames(conn, trees)
}

// open does the first phase. The order matters: the client's descriptors are
// received first, so that they are never left in its connection, and judged last,
// because files among them need the grants.
func (s *session) open() (reply child.OpenReply, files []*os.File, err error) {
	var stdio, secrets []*os.File
	if s.req.Stdio {
		if stdio, secrets, err = receive(s.client, len(s.req.SecretFDs)); err != nil {
			return reply, nil, err
		}
	}
	if s.mounts, err = readMounts(); err != nil {
		return reply, nil, err
	}
	for _, step := range []func() error{s.openGrants, s.nestGrants, s.enter, s.scanGrants, s.applyMasks, s.protectGrants, s.openPins, s.checkHardLinks, s.sampleLinks} {
		if err := step(); err != nil {
			return reply, nil, err
		}
	}
	if s.req.Argv0 != nil {
		if reply.Exec, err = s.lookup(string(s.req.Argv0)); err != nil {
			return reply, nil, err
		}
		reply.OwnJava = s.ownJava(reply.Exec)
	}
	if reply.Stdio, stdio, err = s.vetStdio(stdio); err != nil {
		return reply, nil, err
	}
	if err := vetSecrets(secrets, s.req.SecretFDs); err != nil {
		return reply, nil, err
	}
	if s.req.GitConfig {
		reply.Git = s.gitIdentity()
	}
	for _, g := range s.grants {
		g.tidy()
		reply.Grants = append(reply.Grants, g.reply())
		files = append(files, g.file)
	}
	for _, p := range s.pins {
		reply.Pins = append(reply.Pins, p.path)
		files = append(files, p.file)
	}
	reply.Repository, reply.Linked = s.repository()
	reply.Cwd, reply.Hidden, reply.Masked, reply.Notes, reply.Exposed, reply.Doors, reply.Shared = s.cwd, s.hidden, s.masked, s.notes, s.exposed, s.doors, s.shared
	return reply, append(append(files, stdio...), secrets...), nil
}
