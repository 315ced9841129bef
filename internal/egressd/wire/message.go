package wire

import "fmt"

// Message is one of the types of this package that have a frame.
type Message interface{ encode() (Frame, error) }

// SendMessage encodes m and sends it. Files in it are lent.
func (c *Conn) SendMessage(m Message) error {
	f, err := m.encode()
	if err != nil {
		return err
	}
	return c.Send(f)
}

// DecodeUp reads what an egress process sent: an Answer, Event, Events, Outcome,
// Refresh or Gone. It never panics; after an error the process must be ended.
func DecodeUp(f Frame) (m Message, err error) {
	if len(f.Files) != 0 {
		f.Close()
		return nil, fmt.Errorf("%w: a descriptor came that is not taken", ErrProtocol)
	}
	if f.Flags != 0 && (f.Kind != KindEvent || f.Flags != NoAck) {
		return nil, fmt.Errorf("%w: unknown flags %#x", ErrProtocol, f.Flags)
	}
	switch f.Kind {
	case KindAnswer:
		m, err = decodeAnswer(f)
	case KindEvent:
		m, err = decodeEvent(f)
	case KindEvents:
		m, err = decodeEvents(f)
	case KindOutcome:
		m, err = decodeOutcome(f)
	case KindRefresh:
		m, err = decodeRefresh(f)
	case KindGone:
		m, err = decodeGone(f)
	default:
		err = unknownKind(f.Kind)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func unknownKind(k Kind) error { return fmt.Errorf("%w: unknown kind %d", ErrProtocol, k) }
