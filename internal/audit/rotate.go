package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const segmentDigits = 20

// segment is a file that was set aside. Its name ends in the number of the first
// record after it, so that names sort as records do.
type segment struct {
	path string
	held holdings
}

// Files returns the files of the journal at file, oldest first: what Verify
// reads one after the other.
func Files(file string) ([]string, error) {
	older, err := segments(file)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, s := range older {
		paths = append(paths, s.path)
	}
	if _, err := os.Lstat(file); err == nil {
		paths = append(paths, file)
	}
	return paths, nil
}

func segments(file string) ([]segment, error) {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	var found []segment
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), filepath.Base(file)+".")
		if _, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && len(digits) == segmentDigits {
			found = append(found, segment{path: file + "." + digits})
		}
	}
	slices.SortFunc(found, func(a, b segment) int { return strings.Compare(a.path, b.path) })
	return found, nil
}

// rotate sets the current file aside and begins another. If that fails the
// current file stays.
func (j *Journal) rotate() error {
	aside := segment{fmt.Sprintf("%s.%0*d", j.opt.File, segmentDigits, j.end.seq+1), j.budget.current}
	if err := os.Rename(j.opt.File, aside.path); err != nil {
		return err
	}
	next, err := openPrivate(j.opt.File, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		if back := os.Rename(aside.path, j.opt.File); back != nil {
			j.broken = back
		}
		return err
	}
	j.file.Close()
	j.file, j.size = next, 0
	j.older = append(j.older, aside)
	j.budget.current = holdings{}
	return nil
}

// deleteOldest deletes the oldest file that was set aside, if its last record is
// older than it must be kept, and reports whether it did.
func (j *Journal) deleteOldest(now time.Time) bool {
	if len(j.older) == 0 {
		return false
	}
	oldest := j.older[0]
	st, err := os.Lstat(oldest.path)
	if err != nil || now.Sub(st.ModTime()) < j.opt.Retain || os.Remove(oldest.path) != nil {
		return false
	}
	j.budget.remove(oldest.held)
	j.older = j.older[1:]
	return true
}
