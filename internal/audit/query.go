package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// Filter chooses records. The zero Filter chooses those of uid 0.
type Filter struct {
	UID    uint32
	All    bool      // of every uid; root's alone to ask for
	Jail   string    // of one jail; empty: of any
	Since  time.Time // no older
	After  uint64    // with a higher Seq
	Denied bool      // refusals only
	Limit  int       // the newest so many; 0 is 10000
}

const defaultLimit = 10000

// Match reports whether f chooses r.
func (f Filter) Match(r Record) bool {
	return (f.All || r.UID == f.UID) &&
		(f.Jail == "" || r.Jail == f.Jail) &&
		!r.Time.Before(f.Since) &&
		r.Seq > f.After &&
		(!f.Denied || r.Decision == Deny)
}

// ErrNotFound says that no record has an ID.
var ErrNotFound = errors.New("no such record")

// Query returns the records that f chooses, oldest first.
func (j *Journal) Query(f Filter) ([]Record, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	var found []Record
	err := j.scan(f.Since, func(line []byte) error {
		if !f.All && uidOf(line) != f.UID || f.Jail != "" && !bytes.Contains(line, []byte(strconv.Quote(f.Jail))) {
			return nil // saves reading most of them
		}
		r, err := decode(line)
		if err != nil || !f.Match(r) {
			return err
		}
		if found = append(found, r); len(found) >= 2*limit {
			found = append(found[:0], found[len(found)-limit:]...)
		}
		return nil
	})
	return found[max(0, len(found)-limit):], err
}

// Find returns the record with an ID, completed by how the request ended, or
// ErrNotFound. Whether the caller may see it is for the caller to check.
func (j *Journal) Find(id string) (Record, error) {
	if !validID(id) {
		return Record{}, ErrNotFound
	}
	var found Record
	mark := []byte(`"id":"` + id + `"`)
	err := j.scan(time.Time{}, func(line []byte) error {
		if !bytes.Contains(line, mark) {
			return nil
		}
		r, err := decode(line)
		switch {
		case err != nil:
			return err
		case r.ID != id:
		case r.Kind != KindDone && found.ID == "":
			found = r
		case r.Kind == KindDone && r.UID == found.UID && r.Jail == found.Jail:
			found.Status, found.BytesIn, found.BytesOut, found.Millis = r.Status, r.BytesIn, r.BytesOut, r.Millis
		}
		return nil
	})
	if err == nil && found.ID == "" {
		err = ErrNotFound
	}
	return found, err
}

// writtenLag is more than a file's time of writing lags behind the clock that its
// records are stamped with: the kernel stamps files with the time of its last tick.
const writtenLag = time.Second

// scan calls line for each line, oldest first, of files that may have a record of
// since or later.
func (j *Journal) scan(since time.Time, line func([]byte) error) error {
	files, err := j.snapshot(since)
	defer func() {
		for _, f := range files {
			f.file.Close()
		}
	}()
	if err != nil {
		return err
	}
	for _, f := range files {
		for lines := newLines(f.data); ; {
			l, err := lines.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = line(l)
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", f.file.Name(), err)
			}
		}
	}
	return nil
}

// part is a file as it was when a reader began.
type part struct {
	file *os.File
	data io.Reader
}

// snapshot opens the files; what is appended or deleted later does not matter.
func (j *Journal) snapshot(since time.Time) ([]part, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil, os.ErrClosed
	}
	var (
		parts []part
		paths []string
	)
	for _, s := range j.older {
		paths = append(paths, s.path)
	}
	for _, path := range append(paths, j.opt.File) {
		f, err := openPrivate(path, os.O_RDONLY)
		if err != nil {
			return parts, err
		}
		st, err := f.Stat()
		if err != nil || st.ModTime().Add(writtenLag).Before(since) {
			f.Close()
			continue
		}
		parts = append(parts, part{f, io.LimitReader(f, st.Size())})
	}
	return parts, nil
}

// uidOf reads the uid of a line without decoding it. No string can hold the
// mark, because its quotes would be escaped.
func uidOf(line []byte) uint32 {
	_, rest, _ := bytes.Cut(line, []byte(`"uid":`))
	end := bytes.IndexAny(rest, ",}")
	uid, _ := strconv.ParseUint(string(rest[:max(0, end)]), 10, 32)
	return uint32(uid)
}
