package wire

import "fmt"

// Events are several Events in one frame: what many requests have to say at once
// wakes the daemon once.
type Events []Event

// MaxEvents is the most that one frame carries.
const MaxEvents = 64

// fixedEvent is more than what an Event takes besides its strings, in bytes.
const fixedEvent = 128

func (e Event) size() int {
	return fixedEvent + min(len(e.Authority), MaxAuthority) + min(len(e.Name), MaxName) + min(len(e.Method), MaxMethod) + min(len(e.Path), MaxPath)
}

// Fitting is how many of the first events one frame has room for.
func Fitting(events []Event) int {
	room := MaxBody - fixedEvent
	for i, e := range events {
		if room -= e.size(); room < 0 || i == MaxEvents {
			return i
		}
	}
	return len(events)
}

func (m Events) encode() (Frame, error) {
	if len(m) == 0 || len(m) > MaxEvents {
		return Frame{}, fmt.Errorf("%d events in a frame, not 1 to %d", len(m), MaxEvents)
	}
	var b fields
	b.u8(uint8(len(m)))
	for _, e := range m {
		b.u32(e.Seq)
		if e.NoAck {
			b.u8(1)
		} else {
			b.u8(0)
		}
		if err := b.event(e); err != nil {
			return Frame{}, err
		}
	}
	return Frame{Kind: KindEvents, Body: b}, nil
}

func decodeEvents(f Frame) (Events, error) {
	r := reader{b: f.Body}
	n := int(r.u8())
	if n == 0 || n > MaxEvents {
		r.fail("%d events", n)
	}
	var m Events
	for range n {
		if r.err != nil {
			break
		}
		seq, noAck := r.u32(), r.u8()
		if noAck > 1 {
			r.fail("unknown flags %#x", noAck)
		}
		e := r.event()
		e.Seq, e.NoAck = seq, noAck == 1
		m = append(m, e)
	}
	return m, r.end()
}
