package audit

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openPrivate opens a file that belongs to this process's user alone.
func openPrivate(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := private(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func private(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("belongs to uid %d: chown it, or move it away", st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("mode %#o lets others in: chmod 600", st.Mode&0o777)
	case st.Nlink != 1:
		return errors.New("has a second name")
	}
	return nil
}

// openKey opens the file of the ID key, makes the key if there is none, and
// keeps the file locked: it stays the same file when journals are set aside.
func openKey(path string) (f *os.File, key idKey, err error) {
	if f, err = openPrivate(path, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, key, err
	}
	defer func() {
		if err != nil {
			f.Close()
			f = nil
		}
	}()
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return f, key, fmt.Errorf("another process writes this journal: %w", err)
	}
	switch n, err := f.ReadAt(key[:], 0); {
	case n == len(key):
		return f, key, nil
	case !errors.Is(err, io.EOF):
		return f, key, err
	}
	rand.Read(key[:]) // never fails since Go 1.24
	_, err = f.WriteAt(key[:], 0)
	return f, key, err
}

// cutTorn removes what follows the last newline and returns how much it was: a
// line that was never acknowledged.
func cutTorn(f *os.File) (torn int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	end, err := afterLastNewline(f, size)
	if err != nil || end == size {
		return 0, err
	}
	return size - end, f.Truncate(end)
}

// afterLastNewline searches backwards from size.
func afterLastNewline(f io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, maxLine)
	for end := size; end > 0; {
		start := max(0, end-maxLine)
		b := block[:end-start]
		if _, err := f.ReadAt(b, start); err != nil {
			return 0, err
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] == '\n' {
				return start + int64(i) + 1, nil
			}
		}
		end = start
	}
	return 0, nil
}

// tally reads a journal file, checks its last line and counts what each user
// holds in it. An empty file has an empty head.
func tally(path string) (head, holdings, error) {
	held := holdings{}
	f, err := openPrivate(path, os.O_RDONLY)
	if err != nil {
		return head{}, held, err
	}
	defer f.Close()
	var last []byte
	for lines := newLines(f); ; {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return head{}, held, fmt.Errorf("%s: %w", path, err)
		}
		held[uidOf(line)] += int64(len(line)) + 1
		last = append(last[:0], line...)
	}
	if last == nil {
		return head{}, held, nil
	}
	r, err := decode(last)
	if err != nil {
		return head{}, held, fmt.Errorf("the last line of %s is not one of ours: %w: move the file away to start a new chain", path, err)
	}
	return head{r.Seq, r.Hash}, held, nil
}
