package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// refreshInterval is how often a value may be asked for again because an
// upstream refused it: each time may run a command or ask a person.
const refreshInterval = time.Minute

// sources resolves the credentials of one jail. It moves descriptors; the bytes
// go from a scout or a client to the egress process unread.
type sources struct {
	m        *Manager
	j        *liveJail
	writable []*os.File // the trees that the jail may write, O_PATH

	mu     sync.Mutex
	sealed map[string]*os.File // values of env sources, sent by the client
}

// give takes the values that a client sends with another policy, in the place of
// those from before.
func (s *sources) give(sealed map[string]*os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
}

// forget drops the values that a client sent: they are the egress process's by then,
// and one that comes after it has none.
func (s *sources) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = nil
}

// sent returns the value of an env source, nil for none.
func (s *sources) sent(name string) *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealed[name]
}

// start begins the resolution of those values that are not at hand and returns
// once those that the command's start depends on are decided. It returns the
// ones that were dropped because no source had a value.
func (s *sources) start(ctx context.Context, values []*secret, cached []uint16) (dropped []*secret, err error) {
	for _, v := range values {
		if slices.Contains(cached, v.number) {
			v.atHand()
			continue
		}
		outcome, err := s.resolve(v)
		if err != nil {
			return nil, err
		}
		if !v.binding.Optional && !v.binding.AtStart {
			go s.report(v, outcome)
			continue
		}
		o, err := await(ctx, s.j, outcome)
		if err != nil {
			return nil, err
		}
		switch {
		case o.Result == wire.Got:
		case v.binding.Optional && o.Result == wire.NoValue:
			dropped = append(dropped, v) // by the egress process, too
		default:
			s.failed(v, o)
			return nil, &jail.OpenError{Code: "credential", Exit: 125, Reason: sourceText(v, o)}
		}
	}
	return dropped, nil
}

// resolution is one attempt at a value: what came of the source, and of reading.
type resolution struct {
	outcome chan wire.Outcome
	reply   chan jail.SourceReply // of a scout; nil for a value that the client sent
}

// resolve starts one generation of one binding's value.
func (s *sources) resolve(v *secret) (*resolution, error) {
	outcome := make(chan wire.Outcome, 1)
	v.mu.Lock()
	v.gen++
	v.waiting = false
	v.asked = time.Now()
	v.outcome = outcome
	msg := wire.Secret{Jail: s.j.id.String(), Binding: v.number, Generation: v.gen}
	v.mu.Unlock()

	f, by, rest := s.first(v.binding.Sources, msg.Generation)
	if f != nil {
		msg.By, msg.Value = by, f
		err := s.send(msg)
		if by == wire.ByPipe {
			f.Close()
		}
		return &resolution{outcome: outcome}, err
	}
	if len(rest) == 0 {
		msg.By = wire.ByNone
		return &resolution{outcome: outcome}, s.send(msg)
	}
	return s.scout(v, msg, outcome, rest)
}

// first returns the first value that needs no scout, or the sources that do.
// What the client sent is its own once only.
func (s *sources) first(from []creds.Source, generation uint64) (f *os.File, by wire.Delivery, rest []creds.Source) {
	for i, src := range from {
		switch src.Kind {
		case creds.SourceEnv:
			if f := s.sent(src.Env); f != nil && generation == 1 {
				return f, wire.ByMemfd, nil
			}
		case creds.SourceSystemd:
			if f, err := operatorsValue(src.Name); err == nil {
				return f, wire.ByPipe, nil
			}
		default:
			return nil, 0, scoutSources(from[i:])
		}
	}
	return nil, 0, nil
}

// scout has a child that is the caller write the value into a pipe whose read
// end goes to the egress process.
func (s *sources) scout(v *secret, msg wire.Secret, outcome chan wire.Outcome, from []creds.Source) (*resolution, error) {
	valueR, valueW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer valueR.Close()
	textR, textW, err := os.Pipe()
	if err != nil {
		valueW.Close()
		return nil, err
	}
	defer textR.Close()
	msg.By, msg.Value, msg.Stderr = wire.ByPipe, valueR, textR
	if err := s.send(msg); err != nil {
		valueW.Close()
		textW.Close()
		return nil, err
	}
	r := &resolution{outcome: outcome, reply: make(chan jail.SourceReply, 1)}
	go func() {
		reply, err := s.ask(v, msg.Generation, from, valueW, textW)
		valueW.Close()
		textW.Close()
		if err != nil {
			reply = jail.SourceReply{Reason: err.Error()}
		}
		r.reply <- reply
	}()
	return r, nil
}

func (s *sources) ask(v *secret, gen uint64, from []creds.Source, value, text *os.File) (jail.SourceReply, error) {
	group, err := s.m.sourceGroup(fmt.Sprintf("source-%s-%d-%d", s.j.id, v.number, gen))
	if err != nil {
		return jail.SourceReply{}, err
	}
	defer s.m.removeGroup(group)
	ctx, cancel := context.WithTimeout(s.j.ctx, caller.SourceTime)
	defer cancel()
	return caller.ResolveSource(ctx, caller.SourceOptions{
		Child:    caller.Child{Init: s.m.cfg.Init, Caller: v.plan.Caller, Group: group},
		User:     v.plan.User,
		Request:  jail.SourceRequest{Sources: from, Home: v.plan.User.Home, Env: v.commandEnv(from)},
		Value:    value,
		Stderr:   text,
		Writable: s.writable,
	})
}

// commandEnv is what a credential command gets of the client's environment.
func (s *secret) commandEnv(from []creds.Source) (env []string) {
	for _, name := range policy.CommandEnv(from) {
		if v, ok := s.plan.Context[name]; ok && !strings.ContainsRune(v, 0) {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (s *sources) send(msg wire.Secret) error {
	proc := s.j.proc.Load()
	if err := proc.conn.SendMessage(msg); err != nil {
		proc.end(err)
		return errEgressGone
	}
	return nil
}

// settled is what became of a value: what the egress process read, and why the
// scout says there is none.
type settled struct {
	wire.Outcome
	reason string
}

// await waits for a value's outcome.
func await(ctx context.Context, j *liveJail, r *resolution) (settled, error) {
	select {
	case o := <-r.outcome:
		s := settled{Outcome: o}
		if o.Result != wire.Got && r.reply != nil {
			select {
			case reply := <-r.reply:
				s.reason = reply.Reason
			case <-ctx.Done():
			}
		}
		return s, nil
	case <-j.proc.Load().dead:
		return settled{}, errEgressGone
	case <-ctx.Done():
		return settled{}, ctx.Err()
	}
}

// report waits for a value that the command's start does not depend on, and says
// what became of one that failed.
func (s *sources) report(v *secret, r *resolution) {
	o, err := await(s.j.ctx, s.j, r)
	if err == nil && o.Result != wire.Got {
		s.failed(v, o)
	}
}

// failed records a source that gave nothing and tells the owner. What the source
// wrote to its standard error is in the record, escaped; the value was masked.
func (s *sources) failed(v *secret, o settled) {
	b := v.binding
	rec, err := s.m.auditor.own(audit.Record{
		Kind: audit.KindCredential, Jail: s.j.id.String(), UID: s.j.owner, Policy: v.plan.Spec.Policy.Name,
		Credential: b.Name, Decision: audit.Deny, Code: string(audit.CodeCredential),
		Reason: sourceText(v, o), Origin: b.Origin, Stderr: lines(o.Text), Fix: mend(b.Sources),
	})
	if err != nil {
		s.m.cfg.Log.Error("audit: credential failure not recorded", "err", err)
	}
	s.j.audience.send(credentialDenied(rec))
}

// sourceText says which source failed, and as whom.
func sourceText(v *secret, o settled) string {
	why := map[wire.Result]string{
		wire.NoValue: "no source had a value", wire.BadValue: "the value is longer than 64 KiB or holds a line break or NUL",
		wire.NotSealed: "the client's memory is not sealed",
		wire.TooShort:  "the value is shorter than 16 bytes, and a mask in a reply would confirm a guess of it (on_reflection: abort takes 4 and more)",
		wire.Late:      "no value came in time", wire.Broken: "the value could not be read",
		wire.Unknown: "the value came for a credential that is gone",
	}[o.Result]
	if o.reason != "" {
		why = audit.Escape(o.reason)
	}
	return fmt.Sprintf("credential %q: %s", v.binding.Name, why)
}

// lines are the lines of a text that hold something, each fit to be shown.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, audit.Escape(line))
		}
	}
	return out
}

// refresh answers an egress process whose value an upstream refused or whose
// time is up: the source is asked again, at most once a minute. One that comes too
// soon is answered later, and only the first of a generation counts. A value of
// the client's own cannot be asked for again.
func (j *liveJail) refresh(r wire.Refresh) error {
	v := j.secret(r.Binding)
	if v == nil {
		return fmt.Errorf("%w: a binding that the jail does not have", wire.ErrProtocol)
	}
	if j.sources == nil || len(scoutSources(v.binding.Sources)) == 0 {
		return nil
	}
	wait, ok := v.due(r.Generation)
	if !ok {
		return nil
	}
	go func() {
		select {
		case <-time.After(wait):
			j.sources.renew(v)
		case <-j.ctx.Done():
		}
	}()
	return nil
}

// renew asks the sources of a binding again.
func (s *sources) renew(v *secret) {
	if v.left() {
		return
	}
	res, err := s.resolve(v)
	if err == nil {
		s.report(v, res)
	} else if !errors.Is(err, errEgressGone) {
		s.j.audience.note(fmt.Sprintf("credential %q was not renewed: %v", v.binding.Name, err), "")
	}
}

// scoutSources returns the sources that a scout resolves.
func scoutSources(from []creds.Source) (out []creds.Source) {
	for _, src := range from {
		if src.Kind == creds.SourceFile || src.Kind == creds.SourceCommand {
			out = append(out, src)
		}
	}
	return out
}

// operatorsValue puts a credential that systemd gave this daemon's unit into a
// pipe. The kernel copies it: no byte of it enters this process.
func operatorsValue(name string) (*os.File, error) {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return nil, errors.New("the unit has no credentials")
	}
	// The name was checked when the policy was read: it is no path.
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	conn, err := w.SyscallConn()
	if err != nil {
		r.Close()
		return nil, err
	}
	err = conn.Control(func(fd uintptr) {
		// One call, which never waits: more than the pipe holds is no credential.
		unix.Sendfile(int(fd), int(f.Fd()), nil, creds.MaxSecret)
	})
	return r, err
}

// commandsOf returns the sources whose value may be kept for a moment: commands,
// which cost a process and perhaps a question to a person.
func commandsOf(from []creds.Source) (out []string) {
	for _, src := range from {
		if src.Kind == creds.SourceCommand {
			out = append(out, strings.Join(src.Argv, "\x01"))
		}
	}
	return out
}
