package mitm

import (
	"net"
	"sync"
)

// cork gathers what is written while it is in, so that the records of TLS which one
// piece of a body becomes leave in one call of the kernel.
type cork struct {
	net.Conn

	mu   sync.Mutex // crypto/tls may write for a reader, too
	in   bool
	held []byte
}

func (c *cork) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.in {
		return c.Conn.Write(b)
	}
	c.held = append(c.held, b...)
	return len(b), nil
}

// gather puts the cork in, has write done and lets out what it wrote, which it keeps
// behind held until then.
func (c *cork) gather(held []byte, write func() error) error {
	c.mu.Lock()
	c.in, c.held = true, held
	c.mu.Unlock()
	err := write()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		_, err = c.Conn.Write(c.held)
	}
	c.in, c.held = false, nil
	return err
}

// CloseWrite ends our direction where the connection can.
func (c *cork) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
