package wire

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/omnijail/omnijail/internal/audit"
)

// Caps of an event's strings, in bytes. Longer ones are cut by the sender and
// refused by the receiver.
const (
	MaxAuthority = 272
	MaxName      = 256
	maxAddress   = 16
	MaxMethod    = 32
	MaxPath      = 2048
)

// RecordIDSize is the length of a record's id: 8 hex digits.
const RecordIDSize = 8

// NoAck on an Event says that nothing waits for its record: the second event of
// a request, at its end.
const NoAck uint16 = 1

// eventKinds are the records an egress process can make. Their order is their
// number, so entries are only ever appended.
var eventKinds = []audit.Kind{
	audit.KindRequest, audit.KindDone, audit.KindDNS, audit.KindConnect, audit.KindCredential,
	audit.KindReflection, audit.KindPacket,
}

var decisions = []audit.Decision{audit.Allow, audit.Deny}

// Event is one record as the egress process states it. The daemon fills in who,
// which policy and which rule text; the strings are a jail's bytes.
type Event struct {
	Jail       string
	Generation uint32 // of the Spec that Rule, Nearest and Binding are indexes into
	Seq        uint32 // what the Ack repeats
	NoAck      bool
	ID         string // of the request's first record; empty on the first
	Kind       audit.Kind
	Decision   audit.Decision
	Code       audit.Code
	Status     uint16 // HTTP status, of CodeTLSClient the alert's number; 0 when there was none
	BytesIn    uint64
	BytesOut   uint64
	Millis     uint32
	Rule       int32 // index in the Spec's rules, -1 for none
	Nearest    int32
	Binding    int32 // index in the Spec's bindings, -1 for none
	Authority  string
	Name       string
	Address    netip.Addr // that was not dialled, where one was the reason
	Method     string
	Path       string
}

func (e Event) encode() (Frame, error) {
	f := Frame{Kind: KindEvent, Seq: e.Seq}
	if e.NoAck {
		f.Flags = NoAck
	}
	b := make(fields, 0, e.size())
	err := b.event(e)
	f.Body = b
	return f, err
}

// event appends all of e but what a frame's header says.
func (b *fields) event(e Event) error {
	if err := b.jail(e.Jail); err != nil {
		return err
	}
	kind, decision, code := slices.Index(eventKinds, e.Kind), slices.Index(decisions, e.Decision), slices.Index(audit.Codes, e.Code)
	if kind < 0 || decision < 0 || code < 0 {
		return fmt.Errorf("event %q %q %q has no number", e.Kind, e.Decision, e.Code)
	}
	b.u8(uint8(kind))
	b.u8(uint8(decision))
	b.u8(uint8(code))
	b.u16(e.Status)
	b.u64(e.BytesIn)
	b.u64(e.BytesOut)
	b.u32(e.Millis)
	b.u32(uint32(e.Rule))
	b.u32(uint32(e.Nearest))
	b.u32(uint32(e.Binding))
	b.text(e.ID, RecordIDSize)
	b.text(e.Authority, MaxAuthority)
	b.text(e.Name, MaxName)
	b.text(e.Method, MaxMethod)
	b.text(e.Path, MaxPath)
	b.text(string(e.Address.AsSlice()), maxAddress)
	b.u32(e.Generation)
	return nil
}

func decodeEvent(f Frame) (Event, error) {
	r := reader{b: f.Body}
	e := r.event()
	e.Seq, e.NoAck = f.Seq, f.Flags&NoAck != 0
	return e, r.end()
}

func (r *reader) event() Event {
	e := Event{Jail: r.jail()}
	e.Kind = pick(r, eventKinds)
	e.Decision = pick(r, decisions)
	e.Code = pick(r, audit.Codes)
	e.Status = r.u16()
	e.BytesIn, e.BytesOut, e.Millis = r.u64(), r.u64(), r.u32()
	e.Rule, e.Nearest = r.index(MaxRules), r.index(MaxRules)
	e.Binding = r.index(maxBindings)
	e.ID = r.recordID()
	e.Authority, e.Name = r.text(MaxAuthority), r.text(MaxName)
	e.Method, e.Path = r.text(MaxMethod), r.text(MaxPath)
	e.Address = r.address()
	e.Generation = r.u32()
	return e
}

// address reads an IP address, or nothing.
func (r *reader) address() netip.Addr {
	b := r.text(maxAddress)
	a, ok := netip.AddrFromSlice([]byte(b))
	if !ok && b != "" {
		r.fail("an address of %d bytes", len(b))
	}
	return a
}

// pick reads a number that is a place in list.
func pick[T any](r *reader, list []T) (v T) {
	i := int(r.u8())
	if i >= len(list) {
		r.fail("number %d stands for nothing", i)
		return v
	}
	return list[i]
}

// recordID reads an empty string or 8 lower-case hex digits.
func (r *reader) recordID() string {
	id := r.text(RecordIDSize)
	if id != "" && !isRecordID(id) {
		r.fail("not a record id")
	}
	return id
}

func isRecordID(id string) bool {
	if len(id) != RecordIDSize {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
