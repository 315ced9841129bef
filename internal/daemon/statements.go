package daemon

import (
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// maxStatements is how many records of an egress process are written at once.
const maxStatements = 64

// statements are what an egress process has stated about its jails and is not
// written yet. The daemon fills in whose they are; only numbers and opaque strings
// are taken over.
type statements struct {
	records []audit.Record
	events  []wire.Event
	jails   []*liveJail
}

func (s *statements) add(j *liveJail, e wire.Event) error {
	rec, err := j.record(e)
	if err != nil {
		return err
	}
	s.records, s.events, s.jails = append(s.records, rec), append(s.events, e), append(s.jails, j)
	return nil
}

func (s *statements) clear() {
	clear(s.records)
	clear(s.events)
	clear(s.jails)
	s.records, s.events, s.jails = s.records[:0], s.events[:0], s.jails[:0]
}

// write writes what the process has stated and acknowledges it: only then do the
// requests leave the node.
func (p *egressProc) write(m *Manager) error {
	s := &p.said
	if len(s.records) == 0 {
		return nil
	}
	defer s.clear()
	done, _ := m.auditor.write(s.records) // what was not written is acknowledged without an id
	var acks []wire.Written
	for i, rec := range done {
		w := wire.Written{Seq: s.events[i].Seq}
		if rec.Seq != 0 {
			w.ID = rec.ID
			s.jails[i].saw(rec)
		}
		if !s.events[i].NoAck {
			acks = append(acks, w)
		}
	}
	return p.tell(acks)
}

// tell acknowledges records. A process that does not read its socket is owed them:
// it holds up nobody, not even its own reader.
func (p *egressProc) tell(records []wire.Written) error {
	if len(records) == 0 {
		return nil
	}
	sent, err := p.conn.TrySend(wire.Ack{Records: records})
	if sent || err != nil {
		return err
	}
	return p.owed.add(records)
}
