package main

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// stdio is what the daemon gets for descriptors 0, 1 and 2, and what this
// process keeps doing for them. A pipe or socket goes over as it is. A regular
// file is copied through a pipe, since a descriptor of it could be reopened for
// more than it was opened for. A terminal never goes over without the jail's own
// PTY: a program holding it could read what is typed after it ended.
type stdio struct {
	pass  [3]*os.File
	tty   bool // the jail gets a PTY in place of each terminal
	ours  []*os.File
	out   sync.WaitGroup
	lost  [3]error // why output was not written
	input *os.File // write end of stdin's pipe, when stdin is copied
}

// ttyMode is the user's wish.
type ttyMode int

const (
	ttyAuto   ttyMode = iota // a PTY when 0 and 1 are terminals
	ttyAlways                // one even where 0 is none
	ttyNever
)

func openStdio(mode ttyMode) (*stdio, error) {
	s := &stdio{}
	std := [3]*os.File{os.Stdin, os.Stdout, os.Stderr}
	s.tty = mode == ttyAlways || mode == ttyAuto && isTerminal(std[0]) && isTerminal(std[1])
	if s.tty && !isTerminal(std[0]) {
		return s, s.behindTerminal()
	}
	for i, f := range std {
		if err := s.slot(i, f); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// behindTerminal hands over nothing of ours: the jail's terminal is all that the
// command gets, and what we have on 0 and 1 is copied to and from it.
func (s *stdio) behindTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	s.pass = [3]*os.File{null, null, null}
	s.ours = append(s.ours, null)
	return nil
}

func (s *stdio) slot(i int, f *os.File) error {
	fi, err := f.Stat() // one that was closed is /dev/null by now: the Go runtime saw to it
	if err != nil {
		return err
	}
	copied := fi.Mode().IsRegular() || isTerminal(f) && !s.tty
	if !copied {
		s.pass[i] = f
		return nil
	}
	if i == 2 && sameFile(os.Stdout, fi) {
		s.pass[2] = s.pass[1] // two pipes would lose the order of what is written
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if i == 0 {
		s.pass[0], s.input = r, w
		s.ours = append(s.ours, r)
		return nil
	}
	s.pass[i] = w
	s.ours = append(s.ours, w)
	s.out.Go(func() {
		_, s.lost[i] = io.Copy(f, r)
		r.Close() // whoever writes on learns that nobody reads any more
	})
	return nil
}

func sameFile(f *os.File, as os.FileInfo) bool {
	fi, err := f.Stat()
	return err == nil && os.SameFile(fi, as)
}

// handedOver closes what only the jail should hold, so that it sees the end of
// its input and we see the end of its output, and starts feeding stdin.
func (s *stdio) handedOver() {
	for _, f := range s.ours {
		f.Close()
	}
	s.ours = nil
	if input := s.input; input != nil {
		s.input = nil
		go func() {
			io.Copy(input, os.Stdin)
			input.Close()
		}()
	}
}

// drain waits until all output of the command has been written, or could not be.
func (s *stdio) drain() error {
	s.out.Wait()
	return errors.Join(s.lost[:]...)
}

// close drops what was not handed over.
func (s *stdio) close() {
	if s.input != nil {
		s.input.Close()
	}
	for _, f := range s.ours {
		f.Close()
	}
	s.ours = nil
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
