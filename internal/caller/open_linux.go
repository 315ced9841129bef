package caller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// OpenTime bounds the first phase, the client's passing of descriptors included,
// and again the second.
const OpenTime = 10 * time.Second

// Options of Open.
type Options struct {
	Child
	Scout     *Scout   // in Group, serves this once; stays the caller's to close. nil starts one
	Conn      *os.File // the client's connection when Request.Stdio; stays the caller's
	Listeners []string // paths of our sockets, as bound
	Request   jail.OpenRequest
}

// Opened is what a scout has opened. Its owner closes it, or takes single files
// out by setting them to nil.
type Opened struct {
	Reply   jail.OpenReply
	Grants  []*os.File // O_PATH, in the order of Reply.Grants
	Pins    []*os.File // O_PATH, in the order of Reply.Pins
	Stdio   []*os.File // three, or none; /dev/null in the place of a terminal
	Secrets []*os.File // in the order of Request.SecretFDs
	scout   *process
	as      child.Credential
	watch   bool // one follows
}

// Open has a scout resolve the request. A refusal is a *jail.OpenError. The
// scout waits for Resolve or Close then, and for Watch where the request says so,
// whatever becomes of ctx.
func Open(ctx context.Context, o Options) (*Opened, error) {
	as, err := o.as(o.Request.User)
	if err != nil {
		return nil, err
	}
	s, err := o.scout(as.UID)
	if err != nil {
		return nil, err
	}
	defer s.until(ctx, OpenTime)()
	var conn []*os.File
	if o.Request.Stdio {
		conn = append(conn, o.Conn)
	}
	s.stays.Store(false)
	opened, err := s.open(child.ScoutAsk{As: as, Listeners: o.Listeners, Open: &o.Request}, conn)
	if err != nil {
		s.end()
		return nil, fmt.Errorf("open as uid %d: %w", as.UID, contextError(ctx, err))
	}
	opened.as, opened.watch = as, o.Request.Watch
	return opened, nil
}

// scout is the one that serves uid.
func (o *Options) scout(uid uint32) (*process, error) {
	if o.Scout != nil {
		return o.Scout.serve(uid)
	}
	return o.startFor(uid)
}

func (s *process) open(ask child.ScoutAsk, conn []*os.File) (*Opened, error) {
	again := stillNonblocking(conn)
	err := s.conn.Send(ask, conn...)
	again()
	if err != nil {
		return nil, err
	}
	var reply jail.OpenReply
	files, err := s.conn.Recv(&reply)
	if err != nil {
		return nil, err
	}
	o, err := sortFiles(ask.Open, reply, files)
	if err != nil {
		seqpacket.CloseAll(files)
		return nil, err
	}
	o.scout = s
	return o, nil
}

// sortFiles checks a reply and deals its descriptors out.
func sortFiles(req *jail.OpenRequest, reply jail.OpenReply, files []*os.File) (*Opened, error) {
	if reply.Err != nil {
		return nil, bounded(reply.Err)
	}
	if err := checkReply(req, reply); err != nil {
		return nil, fmt.Errorf("answer of the scout: %w", err)
	}
	stdio := 0
	if req.Stdio {
		stdio = 3
	}
	if want := len(reply.Grants) + len(reply.Pins) + stdio + len(req.SecretFDs); len(files) != want {
		return nil, fmt.Errorf("answer of the scout: %d descriptors instead of %d", len(files), want)
	}
	take := func(n int) (fs []*os.File) { fs, files = files[:n:n], files[n:]; return fs }
	o := &Opened{Reply: reply, Grants: take(len(reply.Grants)), Pins: take(len(reply.Pins)), Stdio: take(stdio), Secrets: files}
	return o, o.checkFiles()
}

// Unwatched ends the scout where nothing is to be watched after all.
func (o *Opened) Unwatched() { o.scout.dismiss() }

// Close ends the scout, unless it stays for another request, and closes the files.
// It may be called again.
func (o *Opened) Close() error {
	o.scout.leave()
	for _, fs := range []*[]*os.File{&o.Grants, &o.Pins, &o.Stdio, &o.Secrets} {
		seqpacket.CloseAll(*fs)
		*fs = nil
	}
	return nil
}

// contextError prefers why the wait was ended over how that looked.
func contextError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &jail.OpenError{
			Code: "stuck_filesystem", Exit: 125,
			Reason: fmt.Sprintf("your files, or your client, did not answer within %v", OpenTime),
		}
	}
	if err = gone(err); errors.Is(err, errGone) {
		return &jail.OpenError{Code: "scout_gone", Exit: 125, Reason: err.Error()}
	}
	return err
}
