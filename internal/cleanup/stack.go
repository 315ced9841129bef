// Package cleanup is construction's twin: while something is built in steps,
// each step adds how to undo it; a failure runs the undoing in reverse, success
// releases it to whoever owns the result.
//
//	var undo cleanup.Stack
//	defer undo.Run()
//	f, err := os.Open(name)
//	if err != nil {
//		return nil, err
//	}
//	undo.Add(f.Close)
//	…
//	return &Thing{f: f, undo: undo.Release()}, nil
package cleanup

import (
	"errors"
	"sync"
)

// Stack is a list of steps to undo. The zero Stack is empty and ready. It may be
// used from several goroutines; each step runs at most once.
type Stack struct {
	mu    sync.Mutex
	steps []func() error
}

// Add puts undo on top. A nil undo is ignored.
func (s *Stack) Add(undo func() error) {
	if undo == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, undo)
}

// Release empties s and returns its steps as a new Stack, which the owner of what
// was built runs at the end of its life.
func (s *Stack) Release() *Stack {
	return &Stack{steps: s.take()}
}

// Run runs the steps, last added first, and empties s. Every step runs, whatever
// the others return; their errors are joined.
func (s *Stack) Run() error {
	steps := s.take()
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		errs = append(errs, steps[i]())
	}
	return errors.Join(errs...)
}

func (s *Stack) take() []func() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := s.steps
	s.steps = nil
	return steps
}
