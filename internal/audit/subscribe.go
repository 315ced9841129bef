package audit

const subscriberLag = 256 // records that a reader may be behind

type subscription struct {
	filter Filter
	out    chan Record
}

// Subscribe returns the records that f chooses as they are written, and a
// function that ends it, which may be called again. A reader who falls 256
// records behind is cut off: the channel closes, and Query with After set to
// the last Seq gives what was missed.
func (j *Journal) Subscribe(f Filter) (records <-chan Record, cancel func()) {
	s := &subscription{f, make(chan Record, subscriberLag)}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		close(s.out)
		return s.out, func() {}
	}
	j.readers[s] = true
	return s.out, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.drop(s)
	}
}

// drop ends a subscription once. The journal is locked.
func (j *Journal) drop(s *subscription) {
	if j.readers[s] {
		delete(j.readers, s)
		close(s.out)
	}
}

// publish hands a written record to those who wait for it, and waits for none.
func (j *Journal) publish(r Record) {
	for s := range j.readers {
		if !s.filter.Match(r) {
			continue
		}
		select {
		case s.out <- r:
		default:
			j.drop(s)
		}
	}
}
