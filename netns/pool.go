package netns

import (
	"errors"
	"sync"
)

// ErrPoolClosed is returned by Take after Close.
var ErrPoolClosed = errors.New("pool of network namespaces is closed")

// Pool keeps namespaces ready, because making one costs most of a millisecond.
// What has been taken never comes back: the next jail must find nothing of the
// last one's.
type Pool struct {
	build  func() (*Net, error)
	ready  chan *Net
	again  chan struct{} // a build outside the pool succeeded: the filler may, too
	closed chan struct{}
	once   sync.Once
	filler sync.WaitGroup
}

// NewPool returns a pool that keeps size namespaces ready and starts to fill it.
// With size 0 each Take makes its own.
func NewPool(size int, way Interception) *Pool {
	return newPool(size, func() (*Net, error) { return New(way) })
}

func newPool(size int, build func() (*Net, error)) *Pool {
	p := &Pool{
		build:  build,
		ready:  make(chan *Net, max(size-1, 0)), // and one in the filler's hand
		again:  make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
	if size > 0 {
		p.filler.Go(p.fill)
	}
	return p
}

// fill makes namespaces until the pool is closed. A kernel that refuses is asked
// again once a Take has seen it give in, not in a loop.
func (p *Pool) fill() {
	for {
		n, err := p.build()
		if err != nil {
			select {
			case <-p.again:
				continue
			case <-p.closed:
				return
			}
		}
		select {
		case p.ready <- n:
		case <-p.closed:
			n.Close()
			return
		}
	}
}

// Take returns a namespace that nobody has used: one that is ready, else a new
// one. The caller closes it.
func (p *Pool) Take() (*Net, error) {
	select {
	case <-p.closed:
		return nil, ErrPoolClosed
	default:
	}
	select {
	case n := <-p.ready:
		return n, nil
	default:
	}
	n, err := p.build()
	if err != nil {
		return nil, err
	}
	select {
	case p.again <- struct{}{}:
	default:
	}
	return n, nil
}

// Ready counts the namespaces that wait, without the one in the filler's hand.
func (p *Pool) Ready() int { return len(p.ready) }

// Close closes the namespaces that nobody took. It may be called again.
func (p *Pool) Close() {
	p.once.Do(func() {
		close(p.closed)
		p.filler.Wait()
		for {
			select {
			case n := <-p.ready:
				n.Close()
			default:
				return
			}
		}
	})
}
