package daemon

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// someScout is a process in a table's test.
type someScout struct {
	name string
	gone chan struct{}
	once sync.Once
}

func newSomeScout(name string) *someScout { return &someScout{name: name, gone: make(chan struct{})} }

func (s *someScout) Alive() bool {
	select {
	case <-s.gone:
		return false
	default:
		return true
	}
}

func (s *someScout) Close() error {
	s.once.Do(func() { close(s.gone) })
	return nil
}

func here(*someScout) error { return nil }

// Who has many scouts stay pays for it alone.
func TestS17_ScoutsThatStayAreFew(t *testing.T) {
	l := lasting[*someScout]{time: time.Hour}
	var alices []*someScout
	put := func(uid uint32, name string) *someScout {
		s := newSomeScout(name)
		l.put(s, uid, name)
		l.ending.Wait()
		return s
	}
	bobs := put(2, "bob")
	for i := range 2 * lastingOfUID {
		alices = append(alices, put(1, fmt.Sprint(i)))
	}
	for i, s := range alices {
		if s.Alive() != (i >= lastingOfUID) {
			t.Errorf("%d of %d: alive is %v", i, len(alices), s.Alive())
		}
	}
	for uid := uint32(3); len(l.scouts) < lastingInAll; uid++ {
		put(uid, "x")
	}
	if late := put(9999, "late"); late.Alive() || !bobs.Alive() {
		t.Error("a user came in for another's scout")
	}
	l.close()
	if after := put(1, "after"); after.Alive() || bobs.Alive() || slices.ContainsFunc(alices, (*someScout).Alive) {
		t.Error("some are left at the end")
	}
}

// A scout is the next one's for the same request, unless it has gone or is silent.
func TestS17_AScoutThatStaysIsForItsRequest(t *testing.T) {
	l := lasting[*someScout]{time: time.Hour}
	dead, silent, other := newSomeScout("dead"), newSomeScout("silent"), newSomeScout("other")
	for _, s := range []*someScout{other, silent, dead} {
		key := "k"
		if s == other {
			key = "another"
		}
		l.put(s, 1, key)
	}
	dead.Close()
	if s, ok := l.take("k", func(s *someScout) error {
		if s != silent {
			t.Errorf("%s is asked", s.name)
		}
		return errors.New("no answer")
	}); ok {
		t.Errorf("%s serves", s.name)
	}
	<-silent.gone
	if s, ok := l.take("another", here); !ok || s != other {
		t.Error("the other one does not serve")
	}
	if _, ok := l.take("another", here); ok {
		t.Error("it serves twice")
	}
}

func TestAScoutThatIsNotAskedGoes(t *testing.T) {
	l := lasting[*someScout]{time: time.Millisecond}
	s := newSomeScout("s")
	l.put(s, 1, "k")
	<-s.gone
	if _, ok := l.take("k", here); ok {
		t.Error("it serves all the same")
	}
}
