package daemon

import (
	"context"
	"os"
	"sync"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// manyNames is how many protected and hidden names a start may have without
// waiting for its turn. Each is a descriptor until the mounts are made, and the
// descriptors of this process are everybody's.
const manyNames = 128

func nameCount(grants []jail.OpenGrant) (n int) {
	for _, g := range grants {
		n += len(g.Names())
	}
	return n
}

// crowded gives the starts with many names their turns: one of a uid at a time.
type crowded struct {
	mu  sync.Mutex
	one map[uint32]chan struct{}
}

// take waits for uid's turn. done gives it back and may be called again.
func (c *crowded) take(ctx context.Context, uid uint32) (done func(), err error) {
	c.mu.Lock()
	if c.one == nil {
		c.one = map[uint32]chan struct{}{}
	}
	one := c.one[uid]
	if one == nil {
		one = make(chan struct{}, 1)
		c.one[uid] = one
	}
	c.mu.Unlock()
	select {
	case one <- struct{}{}:
		return sync.OnceFunc(func() { <-one }), nil
	case <-ctx.Done():
		return func() {}, context.Cause(ctx)
	}
}

// release closes the trees and names, which are in the mounts by now or will
// never be. It may be called again.
func (st *staging) release() {
	seqpacket.CloseAll(st.files.Trees)
	for _, files := range append(st.files.Names, st.files.Layers...) {
		seqpacket.CloseAll(files)
	}
	st.files.Trees, st.files.Names, st.files.Layers = nil, nil, nil
	st.turn()
}

// releaseOpened closes what the scout opened once the jail has it. The trees that
// the jail may write stay: no program in one of them is a source, neither now nor
// under another policy.
func (x *execution) releaseOpened() {
	for i, f := range x.opened.Grants {
		if !x.opened.Reply.Grants[i].Write {
			f.Close()
			x.opened.Grants[i] = nil
		}
	}
	for _, files := range []*[]*os.File{&x.opened.Pins, &x.opened.Stdio, &x.opened.Secrets} {
		seqpacket.CloseAll(*files)
		*files = nil
	}
}
