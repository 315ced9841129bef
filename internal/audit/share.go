package audit

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const shares = 4 // a user may hold one of so many parts of the space

// holdings counts bytes by uid.
type holdings map[uint32]int64

func (h holdings) add(more holdings) {
	for uid, n := range more {
		h[uid] += n
	}
}

func (h holdings) total() (sum int64) {
	for _, n := range h {
		sum += n
	}
	return sum
}

// budget says who may still write.
type budget struct {
	max, reserve int64
	held         holdings // in all files
	current      holdings // in the file being written
}

func newBudget(o Options) budget {
	return budget{max: o.Max, reserve: o.Reserve, held: holdings{}, current: holdings{}}
}

func (b *budget) add(h holdings) { b.held.add(h) }

func (b *budget) remove(h holdings) {
	for uid, n := range h {
		b.held[uid] -= n
	}
}

// fit lowers the budget to what the disk can take.
func (b *budget) fit(file string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(file), &fs); err != nil {
		return fmt.Errorf("space for the journal: %w", err)
	}
	b.max = min(b.max, b.held.total()+int64(fs.Bavail)*int64(fs.Bsize))
	if b.max < 2*b.reserve {
		return fmt.Errorf("%d bytes of space, of which %d are the reserve, are too few: make room, or lower audit.reserve",
			b.max, b.reserve)
	}
	return nil
}

// ShareError says that there is no room for a user's records: they take up all
// the space that one user gets, or all users together take up theirs. It lasts
// until records become old enough to be deleted.
type ShareError struct {
	UID   uint32
	Share int64 // bytes that this user may hold
}

func (e *ShareError) Error() string {
	return fmt.Sprintf("audit: no room for records of uid %d, which may hold %d bytes: raise audit.max or lower audit.retain",
		e.UID, e.Share)
}

// allows returns a *ShareError unless r may take n bytes, when pending is about
// to be written too.
func (b *budget) allows(r Record, pending holdings, n int64) error {
	space, share := b.max-b.reserve, (b.max-b.reserve)/shares
	if r.UID == 0 || r.Kind == KindCredential || r.Kind == KindJournal {
		space, share = b.max, b.max
	}
	if b.held.total()+pending.total()+n > space || b.held[r.UID]+pending[r.UID]+n > share {
		return &ShareError{UID: r.UID, Share: share}
	}
	return nil
}
