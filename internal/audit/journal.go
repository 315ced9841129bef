package audit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Options says where a journal lies and how much it may hold. Zero sizes and
// durations stand for the defaults.
type Options struct {
	File    string        // absolute; files beside it that were set aside are File.N
	Rotate  int64         // bytes of one file, default 100 MiB
	Retain  time.Duration // no record younger than this is deleted, default 30 days
	Max     int64         // bytes of all files, default 1 GiB, at most what the disk has left
	Reserve int64         // bytes of Max for root's and credential records, default 16 MiB
}

func (o Options) withDefaults() Options {
	or := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	or(&o.Rotate, 100<<20)
	or(&o.Max, 1<<30)
	or(&o.Reserve, 16<<20)
	or((*int64)(&o.Retain), int64(30*24*time.Hour))
	return o
}

// Journal is an open journal. Its methods may be called from several goroutines.
type Journal struct {
	opt Options

	mu      sync.Mutex
	lock    *os.File // held locked: one writer
	key     idKey
	file    *os.File
	size    int64
	older   []segment
	end     head
	budget  budget
	repeats repeats
	readers map[*subscription]bool
	enc     encoder
	room    []byte // of the latest batch, for the next one
	broken  error  // once set, nothing is appended any more
}

// Open opens the journal at o.File and makes it if there is none. A last line
// that a crash has torn is removed, and a record says so; a last line that does
// not hash to what it says is an error, and so is a file that another process
// writes or that anyone but its owner can read.
func Open(o Options) (*Journal, error) {
	j := &Journal{opt: o.withDefaults(), repeats: newRepeats(), readers: map[*subscription]bool{}}
	if err := j.open(); err != nil {
		j.closeFiles()
		return nil, fmt.Errorf("open journal %s: %w", o.File, err)
	}
	return j, nil
}

func (j *Journal) open() (err error) {
	if j.lock, j.key, err = openKey(j.opt.File + ".key"); err != nil {
		return err
	}
	if j.older, err = segments(j.opt.File); err != nil {
		return err
	}
	if j.file, err = openPrivate(j.opt.File, os.O_RDWR|os.O_APPEND|os.O_CREATE); err != nil {
		return err
	}
	torn, err := cutTorn(j.file)
	if err != nil {
		return err
	}
	if err := j.count(); err != nil {
		return err
	}
	if torn == 0 {
		return nil
	}
	_, err = j.Append([]Record{{Kind: KindJournal,
		Reason: fmt.Sprintf("a torn last line of %d bytes was removed", torn)}})
	return err
}

// count finds the end of the chain and what each user holds.
func (j *Journal) count() error {
	j.budget = newBudget(j.opt)
	for i := range j.older {
		last, held, err := tally(j.older[i].path)
		if err != nil {
			return err
		}
		j.older[i].held = held
		j.budget.add(held)
		j.end = last
	}
	last, held, err := tally(j.opt.File)
	if err != nil {
		return err
	}
	j.budget.add(held)
	j.budget.current = held
	j.size = held.total()
	if j.size > 0 {
		j.end = last
	}
	return j.budget.fit(j.opt.File)
}

// Close writes what was counted but not yet recorded and closes the files. It
// may be called again.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	_, err := j.append(nil, j.repeats.all())
	for s := range j.readers {
		j.drop(s)
	}
	j.closeFiles()
	j.broken = os.ErrClosed
	return err
}

func (j *Journal) closeFiles() {
	for _, f := range []*os.File{j.file, j.lock} {
		if f != nil {
			f.Close()
		}
	}
	j.file, j.lock = nil, nil
}

// Append writes recs with one write and returns them with Seq, Time, ID, Prev
// and Hash. A denial that was counted instead of written comes back with the
// Seq and ID of the one it repeats.
//
// On an error a record whose Seq is 0 was not written, and what it stands for
// must not happen. That is all of them, unless the error is a *ShareError: then
// it is those of users who are over their share, and the rest was written.
func (j *Journal) Append(recs []Record) ([]Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(recs, j.repeats.due(time.Now()))
}

func (j *Journal) append(recs []Record, summaries []Record) ([]Record, error) {
	out := slices.Clone(recs)
	for i := range out {
		out[i] = clean(out[i])
		out[i].Seq, out[i].Count, out[i].First = 0, 0, time.Time{}
	}
	if j.broken != nil {
		return out, fmt.Errorf("journal is out of order: %w", j.broken)
	}
	b := j.newBatch()
	for i := range summaries {
		if err := b.add(&summaries[i]); err != nil && !isShare(err) {
			return out, err
		}
	}
	var refused error
	for i := range out {
		if j.repeats.known(&out[i]) {
			continue
		}
		err := b.add(&out[i])
		if isShare(err) {
			refused = err
		} else if err != nil {
			return unwritten(out), err
		}
	}
	if err := b.commit(); err != nil {
		return unwritten(out), err
	}
	return out, refused
}

// unwritten takes the numbers away again that a failed batch had given.
func unwritten(recs []Record) []Record {
	for i := range recs {
		recs[i].Seq, recs[i].ID, recs[i].Hash = 0, "", ""
	}
	return recs
}

func isShare(err error) bool {
	var share *ShareError
	return errors.As(err, &share)
}
