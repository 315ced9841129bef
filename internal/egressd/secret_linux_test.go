package egressd

import (
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

func memfd(t *testing.T, content string, seals int) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("value", unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "value")
	t.Cleanup(func() { f.Close() })
	f.WriteString(content)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return f
}

const allSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// TestS12_ValuesArriveByDescriptor: the daemon learns what came of a value, never
// the value.
func TestS12_ValuesArriveByDescriptor(t *testing.T) {
	table := []struct {
		name   string
		secret wire.Secret
		want   wire.Result
		text   string
	}{
		{"pipe", wire.Secret{By: wire.ByPipe, Value: pipe(t, "s3cret-0123456789\n")}, wire.Got, ""},
		{"sealed memfd", wire.Secret{By: wire.ByMemfd, Value: memfd(t, "s3cret-0123456789", allSeals)}, wire.Got, ""},
		{"memfd that can be written", wire.Secret{By: wire.ByMemfd, Value: memfd(t, "s3cret-0123456789", unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)}, wire.NotSealed, ""},
		{"a pipe as memfd", wire.Secret{By: wire.ByMemfd, Value: pipe(t, "s3cret-0123456789")}, wire.NotSealed, ""},
		{"empty pipe", wire.Secret{By: wire.ByPipe, Value: pipe(t, ""), Stderr: pipe(t, "not logged in")}, wire.NoValue, "not logged in"},
		{"line break", wire.Secret{By: wire.ByPipe, Value: pipe(t, "a\r\nX-Evil: 1"), Stderr: pipe(t, "a\r\nX-Evil")}, wire.BadValue, ""},
		{"too long", wire.Secret{By: wire.ByPipe, Value: pipe(t, strings.Repeat("x", 70<<10))}, wire.BadValue, ""},
		{"too short to be masked", wire.Secret{By: wire.ByPipe, Value: pipe(t, "123456789abcdef")}, wire.TooShort, ""},
		{"none", wire.Secret{By: wire.ByNone, Stderr: pipe(t, strings.Repeat("y", 10000))}, wire.NoValue, strings.Repeat("y", wire.MaxText)},
		{"stderr of a good one", wire.Secret{By: wire.ByPipe, Value: pipe(t, "s3cret-0123456789"), Stderr: pipe(t, "s3cret-0123456789")}, wire.Got, ""},
		{"foreign binding", wire.Secret{By: wire.ByPipe, Binding: 1, Value: pipe(t, "x")}, wire.Unknown, ""},
		{"foreign jail", wire.Secret{By: wire.ByPipe, Jail: "jffffffffffffffff", Value: pipe(t, "x")}, wire.Unknown, ""},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.hello()
			r.attach(bound(t, nil))
			c.secret.Generation = 1
			if c.secret.Jail == "" {
				c.secret.Jail = testJail
			}
			r.send(c.secret)
			o := r.receive().(wire.Outcome)
			if o.Result != c.want || o.Text != c.text || o.Generation != 1 {
				t.Errorf("got %d %.40q", o.Result, o.Text)
			}
		})
	}
}

// Bindings with one source are sent the same open file, and each reads it.
func TestReadingAMemfdDoesNotMoveIt(t *testing.T) {
	f := memfd(t, "s3cret-0123456789", allSeals)
	for _, at := range []int64{0, 3, 6} {
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		s, result := readValue(wire.ByMemfd, f)
		if result != wire.Got || string(s.Reveal()) != "s3cret-0123456789" {
			t.Errorf("from %d: %v", at, result)
		}
		if now, err := f.Seek(0, io.SeekCurrent); err != nil || now != at {
			t.Errorf("reading moved it from %d to %d, %v", at, now, err)
		}
	}
}

func TestOldGenerationIsNotTaken(t *testing.T) {
	r := newRig(t)
	r.hello()
	r.attach(bound(t, nil))
	for _, c := range []struct {
		generation uint64
		want       wire.Result
	}{{2, wire.Got}, {2, wire.Unknown}, {1, wire.Unknown}, {3, wire.Got}} {
		r.send(wire.Secret{Jail: testJail, Generation: c.generation, By: wire.ByPipe, Value: pipe(t, "value-0123456789")})
		if o := r.receive().(wire.Outcome); o.Result != c.want {
			t.Errorf("generation %d: %v", c.generation, o.Result)
		}
	}
}

// TestCachedValueNeedsNoSource: the second jail with the same key has it at once,
// one with another key does not.
func TestCachedValueNeedsNoSource(t *testing.T) {
	r := newRig(t)
	r.hello()
	spec := bound(t, nil)
	if a := r.attach(spec); len(a.Cached) != 0 {
		t.Fatalf("cached before any value: %v", a.Cached)
	}
	r.send(wire.Secret{Jail: testJail, Generation: 1, By: wire.ByPipe, Value: pipe(t, "value-0123456789")})
	r.receive()
	for key, want := range map[string]int{"key": 1, "other": 0, "": 0} {
		r.ask(wire.Detach{Seq: 3, Jail: testJail})
		spec.Keys = []string{key}
		if a := r.attach(spec); len(a.Cached) != want {
			t.Errorf("key %q: cached %v", key, a.Cached)
		}
	}
}

// TestStaleValueIsAskedForOnce: a jail can make a host say 401 again and again.
func TestStaleValueIsAskedForOnce(t *testing.T) {
	d, e, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := wire.NewConn(d)
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	conn, err := wire.NewConn(e)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := newProcess(conn)
	j := &jail{id: testJail, credentials: map[uint16]*credential{0: {generation: 4}}}
	stale := p.stale(j, &inForce{})
	stale(0)
	stale(0)
	conn.SendMessage(wire.Gone{Jail: testJail})
	for _, want := range []wire.Message{wire.Refresh{Jail: testJail, Generation: 4}, wire.Gone{Jail: testJail}} {
		f, err := daemon.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m, err := wire.DecodeUp(f); err != nil || m != want {
			t.Errorf("got %v, %v, want %v", m, err, want)
		}
	}
}

// TestS19_ShortValuesAreNotMasked: a mask tells who guesses a value that the guess is
// right, so short ones are for policies that refuse the whole reply.
func TestS19_ShortValuesAreNotMasked(t *testing.T) {
	for _, c := range []struct {
		on    string
		value string
		want  wire.Result
	}{
		{"", "fifteen-bytes-x", wire.TooShort}, {"mask", "fifteen-bytes-x", wire.TooShort}, {"mask", "sixteen-bytes-xx", wire.Got},
		{"abort", "fifteen-bytes-x", wire.Got}, {"freeze", "four", wire.Got}, {"abort", "abc", wire.TooShort},
	} {
		r := newRig(t)
		r.hello()
		spec := bound(t, nil)
		spec.OnReflection = c.on
		r.attach(spec)
		r.send(wire.Secret{Jail: testJail, Generation: 1, By: wire.ByPipe, Value: pipe(t, c.value)})
		if o := r.receive().(wire.Outcome); o.Result != c.want {
			t.Errorf("on_reflection %q, %q: %d, want %d", c.on, c.value, o.Result, c.want)
		}
	}
}
