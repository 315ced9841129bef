package wire

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

const testJail = "j0123456789abcdef"

// upward is one message of every kind that an egress process may send.
var upward = []Message{
	Answer{Seq: 1},
	Answer{Seq: 2, Status: BadRules},
	Answer{Seq: 3, Env: map[string]string{"GH_TOKEN": "oa_cred_x", "A": "b"}, CADER: []byte{0x30, 0}, Cached: []uint16{0, 7}},
	Event{Jail: testJail, Seq: 9, Kind: audit.KindRequest, Decision: audit.Deny, Code: audit.CodeNoRule,
		Rule: -1, Nearest: 3, Binding: -1, Authority: "a.test:443", Method: "GET", Path: "/x", Address: netip.MustParseAddr("10.0.0.1")},
	Event{Jail: testJail, Generation: 7, NoAck: true, ID: "00ff00ff", Kind: audit.KindDone, Decision: audit.Allow, Code: audit.CodeAllowed,
		Status: 200, BytesIn: 1 << 40, BytesOut: 2, Millis: 3, Rule: 1999, Nearest: -1, Binding: 255},
	Event{Jail: testJail, Kind: audit.KindDNS, Decision: audit.Deny, Code: audit.CodeNameDenied, Name: "\x1b]52;evil", Rule: -1, Nearest: -1, Binding: -1},
	Events{
		{Jail: testJail, NoAck: true, ID: "00ff00ff", Kind: audit.KindDone, Decision: audit.Allow, Code: audit.CodeAllowed, Rule: 1, Nearest: -1, Binding: -1},
		{Jail: "jfedcba9876543210", Seq: 1 << 31, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
			Rule: 0, Nearest: -1, Binding: 0, Authority: "a.test:443", Method: "GET", Path: "/x"},
	},
	Outcome{Jail: testJail, Binding: 3, Generation: 4, Result: Late, Text: "no\x00t"},
	Refresh{Jail: testJail, Binding: 1, Generation: 1 << 60},
	Gone{Jail: testJail},
}

func TestUpwardMessagesSurviveTheTrip(t *testing.T) {
	for _, m := range upward {
		f, err := m.encode()
		if err != nil {
			t.Fatalf("%#v: %v", m, err)
		}
		got, err := DecodeUp(f)
		if err != nil {
			t.Fatalf("%#v: %v", m, err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("got  %#v\nwant %#v", got, m)
		}
	}
}

// TestS10_EveryDamagedMessageIsRefused cuts, lengthens and changes each message.
// What still decodes must be in range.
func TestS10_EveryDamagedMessageIsRefused(t *testing.T) {
	for _, m := range upward {
		f, _ := m.encode()
		for n := range f.Body {
			short := f
			short.Body = f.Body[:n]
			if _, err := DecodeUp(short); !errors.Is(err, ErrProtocol) {
				t.Errorf("%T cut to %d of %d bytes: %v", m, n, len(f.Body), err)
			}
		}
		long := f
		long.Body = append(append([]byte(nil), f.Body...), 0)
		if _, err := DecodeUp(long); !errors.Is(err, ErrProtocol) {
			t.Errorf("%T with one byte more: %v", m, err)
		}
		flagged := f
		flagged.Flags |= 0x8000
		if _, err := DecodeUp(flagged); !errors.Is(err, ErrProtocol) {
			t.Errorf("%T with an unknown flag: %v", m, err)
		}
	}
}

func TestS11_OnlyTheClosedListComesUp(t *testing.T) {
	for k := range Kind(200) {
		_, err := DecodeUp(Frame{Kind: k})
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("kind %d with an empty body: %v", k, err)
		}
	}
	for _, id := range []string{"", "j", "../../../etc/pass", "j0123456789ABCDEF", "j0123456789abcde/", "x0123456789abcdef", testJail + "0"} {
		if _, err := (Gone{Jail: id}).encode(); err == nil {
			t.Errorf("jail id %q is encoded", id)
		}
		if _, err := DecodeUp(Frame{Kind: KindGone, Body: []byte(id)}); !errors.Is(err, ErrProtocol) {
			t.Errorf("jail id %q is taken: %v", id, err)
		}
	}
}

func TestS11_NumbersOutOfRangeAreRefused(t *testing.T) {
	base := upward[3].(Event)
	f, _ := base.encode()
	// Body: jail id, kind, decision, code, status u16, in u64, out u64, ms u32, rule, nearest, binding.
	const at = JailIDSize
	table := []struct {
		name   string
		offset int
		value  []byte
	}{
		{"kind", at, []byte{byte(len(eventKinds))}},
		{"decision", at + 1, []byte{2}},
		{"code", at + 2, []byte{byte(len(audit.Codes))}},
		{"rule", at + 25, []byte{0xd0, 0x07, 0, 0}},
		{"rule below -1", at + 25, []byte{0xfe, 0xff, 0xff, 0xff}},
		{"nearest", at + 29, []byte{0, 0, 0, 0x7f}},
		{"binding", at + 33, []byte{0, 1, 0, 0}},
	}
	for _, c := range table {
		g := f
		g.Body = append([]byte(nil), f.Body...)
		copy(g.Body[c.offset:], c.value)
		if _, err := DecodeUp(g); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s out of range is taken: %v", c.name, err)
		}
	}
}

func TestLongStringsAreCutBySenders(t *testing.T) {
	long := strings.Repeat("x", 5000)
	f, err := Event{Jail: testJail, Kind: audit.KindConnect, Decision: audit.Deny, Code: audit.CodeSSH,
		Authority: long, Name: long, Method: long, Path: long}.encode()
	if err != nil {
		t.Fatal(err)
	}
	m, err := DecodeUp(f)
	if err != nil {
		t.Fatal(err)
	}
	if e := m.(Event); len(e.Path) != MaxPath || len(e.Method) != MaxMethod {
		t.Errorf("path has %d bytes, method %d", len(e.Path), len(e.Method))
	}
}

func TestS11_PlaceholdersOnlyForVariablesThatBindingsName(t *testing.T) {
	bs := []creds.Binding{{Env: []creds.EnvVar{{Name: "GH_TOKEN"}}}}
	table := []struct {
		env map[string]string
		ok  bool
	}{
		{nil, true},
		{map[string]string{"GH_TOKEN": "oa_cred_AAAA"}, true},
		{map[string]string{"LD_PRELOAD": "/home/u/x.so"}, false},
		{map[string]string{"GH_TOKEN": "a\nb"}, false},
		{map[string]string{"GH_TOKEN": "a\x00b"}, false},
	}
	for _, c := range table {
		got, err := Answer{Env: c.env}.Placeholders(bs)
		if (err == nil) != c.ok {
			t.Errorf("%q: %v, %v", c.env, got, err)
		}
	}
}

func FuzzEgressMessage(f *testing.F) {
	for _, m := range upward {
		fr, _ := m.encode()
		b, _ := fr.encode()
		f.Add(b)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packet []byte) {
		fr, err := parseFrame(packet)
		if err != nil {
			return
		}
		m, err := DecodeUp(fr)
		if err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Fatalf("error without ErrProtocol: %v", err)
			}
			return
		}
		again, err := m.encode()
		if err != nil {
			t.Fatalf("decoded %#v does not encode: %v", m, err)
		}
		m2, err := DecodeUp(again)
		if err != nil || !reflect.DeepEqual(m, m2) {
			t.Fatalf("%#v is not stable: %#v, %v", m, m2, err)
		}
	})
}

// TestWhatFitsIsEncoded: events of any length are taken together as far as Fitting
// says, and never fewer than one at a time.
func TestWhatFitsIsEncoded(t *testing.T) {
	long := Event{Jail: testJail, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed, Rule: -1, Nearest: -1, Binding: -1,
		Authority: strings.Repeat("a", 2*MaxAuthority), Name: strings.Repeat("n", 2*MaxName), Method: strings.Repeat("M", 2*MaxMethod),
		Path: strings.Repeat("/", 2*MaxPath), ID: "01234567", Address: netip.MustParseAddr("2001:db8::1")}
	short := long
	short.Authority, short.Name, short.Path = "a.test:443", "", "/"
	for _, e := range []Event{long, short} {
		events := make([]Event, 3*MaxEvents)
		for i := range events {
			events[i] = e
		}
		n := Fitting(events)
		f, err := Events(events[:n]).encode()
		if n < 1 || n > MaxEvents || err != nil || len(f.Body) > MaxBody {
			t.Fatalf("%d events, %d bytes, %v", n, len(f.Body), err)
		}
		if m, err := DecodeUp(f); err != nil || len(m.(Events)) != n {
			t.Errorf("%d events: %v", n, err)
		}
	}
	if n := Fitting([]Event{short, short}); n != 2 {
		t.Errorf("%d of 2", n)
	}
}
