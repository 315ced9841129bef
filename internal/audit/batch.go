package audit

import (
	"fmt"
	"time"
)

// batch collects the lines of one write. Nothing of the journal changes before
// commit.
type batch struct {
	j       *Journal
	now     time.Time
	end     head
	held    holdings
	buf     []byte // its room is the journal's
	written []*Record
}

func (j *Journal) newBatch() *batch {
	return &batch{j: j, now: time.Now().UTC().Round(0), end: j.end, held: holdings{}, buf: j.room[:0]}
}

// add numbers r and puts its line into the batch. A *ShareError leaves the
// batch and r as they were.
func (b *batch) add(r *Record) error {
	full := *r
	full.Seq, full.Time, full.Prev = b.end.seq+1, b.now, b.end.hash
	if full.Kind != KindDone || !validID(full.ID) {
		full.ID = b.j.key.id(full.Seq)
	}
	line := b.j.enc.line(&full)
	if err := b.room(full, int64(len(line))); err != nil {
		return err
	}
	b.buf = append(b.buf, line...)
	b.held[full.UID] += int64(len(line))
	b.end = head{full.Seq, full.Hash}
	*r = full
	b.written = append(b.written, r)
	return nil
}

// room makes room for n bytes, by deleting what is older than it need be kept,
// and by nothing else.
func (b *batch) room(r Record, n int64) error {
	err := b.j.budget.allows(r, b.held, n)
	for err != nil && b.j.deleteOldest(b.now) {
		err = b.j.budget.allows(r, b.held, n)
	}
	return err
}

// commit writes the batch. If the disk takes only a part, that part is removed.
func (b *batch) commit() error {
	if len(b.buf) == 0 {
		return nil
	}
	j := b.j
	j.room = b.buf
	if j.size > 0 && j.size+int64(len(b.buf)) > j.opt.Rotate {
		if err := j.rotate(); err != nil {
			return fmt.Errorf("set aside a full journal file: %w", err)
		}
	}
	if _, err := j.file.Write(b.buf); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = fmt.Errorf("a partial write could not be removed: %w", cut)
		}
		return fmt.Errorf("write audit records: %w", err)
	}
	j.size += int64(len(b.buf))
	j.end = b.end
	j.budget.add(b.held)
	j.budget.current.add(b.held)
	for _, r := range b.written {
		j.repeats.wrote(*r)
		j.publish(*r)
	}
	return nil
}
