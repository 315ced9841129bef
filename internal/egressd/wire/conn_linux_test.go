package wire

import (
	"errors"
	"io"
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

func pair(t *testing.T) (daemon, egress *Conn) {
	t.Helper()
	d, e, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	if daemon, err = NewConn(d); err != nil {
		t.Fatal(err)
	}
	if egress, err = NewConn(e); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { daemon.Close(); egress.Close() })
	return daemon, egress
}

func file(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { r.Close() })
	return r
}

func files(t *testing.T, n int) (fs []*os.File) {
	t.Helper()
	for range n {
		fs = append(fs, file(t))
	}
	return fs
}

func TestOrdersArriveWithTheirDescriptors(t *testing.T) {
	d, e := pair(t)
	orders := []struct {
		m     Message
		files int
	}{
		{Hello{Seq: 1, Config: file(t)}, 1},
		{Hello{Seq: 1, Config: file(t), Login: file(t)}, 2},
		{Attach{Seq: 2, Jail: testJail, Spec: file(t), TCP: files(t, 2), UDP: files(t, 2)}, 5},
		{Attach{Seq: 2, Jail: testJail, Spec: file(t), TCP: files(t, 1), UDP: files(t, 1)}, 3},
		{Attach{Seq: 2, Jail: testJail, Spec: file(t), TCP: files(t, 1), UDP: files(t, 1), Proxy: files(t, 1)}, 4},
		{Attach{Seq: 2, Jail: testJail, Spec: file(t), TCP: files(t, MaxListeners), UDP: files(t, 2), Proxy: files(t, 2), Packets: file(t)}, MaxFiles},
		{Secret{Jail: testJail, Binding: 2, Generation: 3, By: ByPipe, Value: file(t), Stderr: file(t)}, 2},
		{Secret{Jail: testJail, By: ByMemfd, Value: file(t)}, 1},
		{Secret{Jail: testJail, By: ByNone, Stderr: file(t)}, 1},
		{Secret{Jail: testJail, By: ByDrop}, 0},
		{Detach{Seq: 4, Jail: testJail}, 0},
		{Freeze{Seq: 5, Jail: testJail}, 0},
		{Ack{Records: []Written{{1, "01234567"}, {2, ""}}}, 0},
	}
	for _, o := range orders {
		if err := d.SendMessage(o.m); err != nil {
			t.Fatalf("%T: %v", o.m, err)
		}
		f, err := e.ReceiveFiles()
		if err != nil {
			t.Fatalf("%T: %v", o.m, err)
		}
		if len(f.Files) != o.files {
			t.Errorf("%T came with %d descriptors", o.m, len(f.Files))
		}
		m, err := DecodeDown(f)
		if err != nil {
			t.Errorf("%T: %v", o.m, err)
		} else if reflect.TypeOf(m) != reflect.TypeOf(o.m) {
			t.Errorf("%T came as %T", o.m, m)
		}
		f.Close()
	}
}

// TestS10_DaemonTakesNoDescriptor: a hostile egress process sends one.
func TestS10_DaemonTakesNoDescriptor(t *testing.T) {
	d, e := pair(t)
	if err := e.Send(Frame{Kind: KindGone, Body: []byte(testJail), Files: []*os.File{file(t)}}); err != nil {
		t.Fatal(err)
	}
	before := openDescriptors(t)
	if _, err := d.Receive(); !errors.Is(err, ErrProtocol) {
		t.Errorf("a descriptor was taken: %v", err)
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("descriptors went from %d to %d", before, after)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(es)
}

func TestS10_MalformedPacketsAreRefused(t *testing.T) {
	header := func(n uint32) []byte {
		return []byte{69, 0, 0, 0, 0, 0, 0, 0, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
	}
	for name, packet := range map[string][]byte{
		"no header":     {1, 2, 3},
		"short body":    header(5),
		"length beyond": append(header(0xffffffff), 1),
		"body beyond":   append(header(1), 1, 2),
		"too long":      append(header(MaxBody+1), make([]byte, MaxBody+1)...),
		"far too long":  append(header(100000), make([]byte, 100000)...),
	} {
		d, e := pair(t)
		if _, _, err := e.c.WriteMsgUnix(packet, nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Receive(); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCloseIsEOFForThePeer(t *testing.T) {
	d, e := pair(t)
	d.Close()
	d.Close()
	if _, err := e.ReceiveFiles(); err != io.EOF {
		t.Errorf("got %v", err)
	}
}

func TestDocumentsMustBeSealed(t *testing.T) {
	want := Spec{Keys: []string{"k"}, BodyDeny: true}
	f, err := Seal("spec", want)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got Spec
	if err := Unseal(f, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a sealed document was changed: %v", err)
	}

	fd, err := unix.MemfdCreate("open", unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	open := os.NewFile(uintptr(fd), "open")
	defer open.Close()
	open.WriteString(`{}`)
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	plain.WriteString(`{}`)
	for _, f := range []*os.File{open, plain} {
		if err := Unseal(f, &got); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
	unknown, err := Seal("x", map[string]int{"new_field": 1})
	if err != nil {
		t.Fatal(err)
	}
	defer unknown.Close()
	if err := Unseal(unknown, &got); !errors.Is(err, ErrProtocol) {
		t.Errorf("an unknown field is taken: %v", err)
	}
}

func TestFramesThatAreThereComeTogether(t *testing.T) {
	d, e := pair(t)
	for i := range 5 {
		if err := e.SendMessage(Gone{Jail: testJail}); err != nil {
			t.Fatal(i, err)
		}
	}
	var got []int
	for range 2 {
		n := 0
		if err := d.ReceiveEach(3, func(f Frame) error { n++; _, err := DecodeUp(f); return err }); err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if got[0] != 3 || got[1] != 2 {
		t.Errorf("%d frames came together", got)
	}
	stop := errors.New("no more")
	e.SendMessage(Gone{Jail: testJail})
	e.SendMessage(Gone{Jail: testJail})
	if err := d.ReceiveEach(3, func(Frame) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of who takes them: %v", err)
	}
	e.Close()
	n := 0
	if err := d.ReceiveEach(3, func(Frame) error { n++; return nil }); n != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("%d frames before the end, %v", n, err)
	}
}

func TestTrySendDoesNotWait(t *testing.T) {
	d, e := pair(t)
	sent := 0
	for {
		ok, err := d.TrySend(Ack{Records: []Written{{1, "01234567"}}})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		sent++
	}
	for range sent {
		if _, err := e.ReceiveFiles(); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := d.TrySend(Ack{}); !ok || err != nil {
		t.Errorf("with room again: %v, %v", ok, err)
	}
	e.Close()
	if _, err := d.TrySend(Ack{}); err == nil {
		t.Error("sent to nobody")
	}
}
