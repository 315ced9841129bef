package wire

import (
	"fmt"
	"os"
)

// WithLogin on a Hello says that the login of a proxy follows the Config.
const WithLogin uint16 = 1

// Hello is the first message: the Config, a sealed memfd, and the file with the
// login for upstream.proxy, unread by the daemon; nil where there is none.
type Hello struct {
	Seq    uint32
	Config *os.File
	Login  *os.File
}

func (m Hello) encode() (Frame, error) {
	f := Frame{Kind: KindHello, Seq: m.Seq, Files: []*os.File{m.Config}}
	if m.Login != nil {
		f.Flags, f.Files = WithLogin, append(f.Files, m.Login)
	}
	return f, nil
}

// NoIPv6 on an Attach says that the node runs without IPv6, and that the jail has
// no sockets for it.
const NoIPv6 uint16 = 1

// ExplicitProxy on an Attach says that the jail has listeners of the proxy's own
// port.
const ExplicitProxy uint16 = 2

// Attach gives a jail: its Spec, a sealed memfd, and the sockets made in its
// network namespace. Those of IPv6 are all there or all nil, and so are those of
// the explicit proxy.
type Attach struct {
	Seq                    uint32
	Jail                   string
	Spec                   *os.File
	TCP4, TCP6, UDP4, UDP6 *os.File
	Proxy4, Proxy6         *os.File
}

func (m Attach) encode() (Frame, error) {
	f, err := jailFrame(KindAttach, m.Seq, m.Jail)
	f.Files = []*os.File{m.Spec, m.TCP4, m.UDP4}
	if m.TCP6 == nil && m.UDP6 == nil {
		f.Flags |= NoIPv6
	} else {
		f.Files = append(f.Files, m.TCP6, m.UDP6)
	}
	if m.Proxy4 != nil {
		f.Flags |= ExplicitProxy
		f.Files = append(f.Files, m.Proxy4)
		if f.Flags&NoIPv6 == 0 {
			f.Files = append(f.Files, m.Proxy6)
		}
	}
	return f, err
}

// Detach takes a jail away.
type Detach struct {
	Seq  uint32
	Jail string
}

func (m Detach) encode() (Frame, error) { return jailFrame(KindDetach, m.Seq, m.Jail) }

// Freeze cuts a jail's network and keeps its state.
type Freeze struct {
	Seq  uint32
	Jail string
}

func (m Freeze) encode() (Frame, error) { return jailFrame(KindFreeze, m.Seq, m.Jail) }

// Replace gives a jail another policy: its Spec, a sealed memfd. Generation counts
// them, from 1; Attach brought number 0. After an Answer that is not OK the former
// policy is in force as it was.
type Replace struct {
	Seq        uint32
	Jail       string
	Generation uint32
	Spec       *os.File
}

func (m Replace) encode() (Frame, error) {
	f, err := jailFrame(KindReplace, m.Seq, m.Jail)
	b := fields(f.Body)
	b.u32(m.Generation)
	f.Body, f.Files = b, []*os.File{m.Spec}
	return f, err
}

func jailFrame(k Kind, seq uint32, jail string) (Frame, error) {
	var b fields
	if err := b.jail(jail); err != nil {
		return Frame{}, err
	}
	return Frame{Kind: k, Seq: seq, Body: b}, nil
}

// Delivery says how a Secret's value comes.
type Delivery uint8

// The deliveries.
const (
	ByPipe  Delivery = iota // Value is the read end of a pipe that a source fills
	ByMemfd                 // Value is a sealed memfd that a client filled
	ByNone                  // no source gave one: requests that need it are refused
	ByDrop                  // no source gave one and the binding is optional: it is as if not there
	deliveryLimit
)

// Secret gives the value of one binding, unread by the daemon. Binding is the value's
// number, see Spec.Number. Stderr, the read end of a pipe, may be nil.
type Secret struct {
	Jail       string
	Binding    uint16
	Generation uint64
	By         Delivery
	Value      *os.File
	Stderr     *os.File
}

func (m Secret) encode() (Frame, error) {
	var b fields
	if err := b.jail(m.Jail); err != nil {
		return Frame{}, err
	}
	b.u16(m.Binding)
	b.u64(m.Generation)
	b.u8(uint8(m.By))
	f := Frame{Kind: KindSecret, Body: b}
	if m.By == ByPipe || m.By == ByMemfd {
		f.Files = append(f.Files, m.Value)
	}
	if m.Stderr != nil {
		f.Files = append(f.Files, m.Stderr)
	}
	return f, nil
}

// Ack says which records have been written, one per Event that waits. A frame
// carries a whole batch.
type Ack struct{ Records []Written }

// Written is one record. Without an ID it could not be written, and what the
// event described must not happen.
type Written struct {
	Seq uint32
	ID  string
}

// MaxBatch is the most records one Ack carries.
const MaxBatch = 512

func (m Ack) encode() (Frame, error) {
	if len(m.Records) > MaxBatch {
		return Frame{}, fmt.Errorf("ack of %d records, more than %d", len(m.Records), MaxBatch)
	}
	var b fields
	b.u16(uint16(len(m.Records)))
	for _, w := range m.Records {
		if w.ID != "" && !isRecordID(w.ID) {
			return Frame{}, fmt.Errorf("ack: not a record id: %.32q", w.ID)
		}
		b.u32(w.Seq)
		b.text(w.ID, RecordIDSize)
	}
	return Frame{Kind: KindAck, Body: b}, nil
}
