package explicit

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
)

// client is a connection as a server of net/http would present it to a handler
// that takes it over. What a handler writes instead of taking it goes nowhere:
// the connection then ends without an answer.
type client struct {
	conn   net.Conn
	header http.Header
}

func (c *client) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

func (c *client) Write(b []byte) (int, error) { return len(b), nil }
func (c *client) WriteHeader(int)             {}

// Hijack gives the connection away. The reader is empty: what the client had sent
// early is read from the connection itself.
func (c *client) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	empty := bufio.NewReader(bytes.NewReader(nil))
	return c.conn, bufio.NewReadWriter(empty, bufio.NewWriter(c.conn)), nil
}
