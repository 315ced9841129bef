package wire

import (
	"fmt"
	"os"
	"slices"
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

// WithPackets on an Attach says that the last descriptor receives refused packets.
const WithPackets uint16 = 1

// Listeners of one jail: MaxPorts ports where each has its own, two families.
const (
	MaxPorts     = 32
	MaxListeners = MaxPorts * families
	families     = 2
)

// Attach gives a jail: its Spec, a sealed memfd, and the sockets made in its
// network namespace. It has at least one TCP and one UDP. Packets may be nil.
type Attach struct {
	Seq             uint32
	Jail            string
	Spec            *os.File
	TCP, UDP, Proxy []*os.File
	Packets         *os.File
}

func (m Attach) encode() (Frame, error) {
	f, err := jailFrame(KindAttach, m.Seq, m.Jail)
	b := fields(f.Body)
	f.Files = []*os.File{m.Spec}
	for _, list := range [][]*os.File{m.TCP, m.UDP, m.Proxy} {
		b.u8(uint8(min(len(list), MaxFiles))) // what is too much fails by the number of descriptors
		f.Files = append(f.Files, list...)
	}
	if m.Packets != nil {
		f.Flags, f.Files = WithPackets, append(f.Files, m.Packets)
	}
	f.Body = b
	return f, err
}

// Sockets returns the sockets that came with the jail.
func (m Attach) Sockets() []*os.File {
	files := slices.Concat(m.TCP, m.UDP, m.Proxy)
	if m.Packets != nil {
		files = append(files, m.Packets)
	}
	return files
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
