package cleanup

import (
	"errors"
	"slices"
	"testing"
)

func TestRunUndoesInReverseAndOnce(t *testing.T) {
	var got []int
	var s Stack
	for i := range 3 {
		s.Add(func() error { got = append(got, i); return nil })
	}
	s.Add(nil)
	for range 2 {
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []int{2, 1, 0}) {
		t.Fatalf("ran %v, want [2 1 0]", got)
	}
}

func TestRunGoesOnAfterAnError(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	var s Stack
	s.Add(func() error { return first })
	s.Add(func() error { return second })
	if err := s.Run(); !errors.Is(err, first) || !errors.Is(err, second) {
		t.Fatalf("got %v, want both errors", err)
	}
}

func TestReleaseMovesTheSteps(t *testing.T) {
	ran := 0
	var s Stack
	s.Add(func() error { ran++; return nil })
	owner := s.Release()
	s.Run()
	if ran != 0 {
		t.Fatal("a released step ran with the old stack")
	}
	owner.Run()
	owner.Run()
	if ran != 1 {
		t.Fatalf("the step ran %d times with its owner, want once", ran)
	}
}
