package e2e

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// syncBuffer collects a process's output while others read it.
type syncBuffer struct {
	mu  sync.Mutex
	b   bytes.Buffer
	new chan struct{}
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.b.Write(p)
	if s.new != nil {
		close(s.new)
		s.new = nil
	}
	return n, err
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// waitFor returns true once text has been written, false when gone closes first
// or nothing comes for the time that bounds a hang.
func (s *syncBuffer) waitFor(text string, gone <-chan struct{}) bool {
	deadline := time.After(hang)
	for {
		s.mu.Lock()
		found := strings.Contains(s.b.String(), text)
		if s.new == nil {
			s.new = make(chan struct{})
		}
		more := s.new
		s.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-more:
		case <-gone:
			return strings.Contains(s.String(), text)
		case <-deadline:
			return false
		}
	}
}
