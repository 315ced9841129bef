package dnsstub

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// idle is how long a connection may take to send its next query and to take its
// answer.
const idle = 10 * time.Second

// ServeConn answers the queries on one TCP connection, in order, and closes it
// when the client does, is idle for ten seconds, or sends what cannot be a query.
func ServeConn(c net.Conn, cfg Config) {
	defer c.Close()
	buf := make([]byte, maxMessage)
	for {
		c.SetDeadline(time.Now().Add(idle))
		msg, err := readMessage(c, buf)
		if err != nil {
			return
		}
		reply := cfg.answer(msg)
		if reply == nil {
			return
		}
		framed := binary.BigEndian.AppendUint16(nil, uint16(len(reply)))
		if _, err := c.Write(append(framed, reply...)); err != nil {
			return
		}
	}
}

// readMessage reads one message with its length before it.
func readMessage(r io.Reader, buf []byte) ([]byte, error) {
	if _, err := io.ReadFull(r, buf[:2]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(buf))
	if n > len(buf) {
		return nil, errNoQuery
	}
	_, err := io.ReadFull(r, buf[:n])
	return buf[:n], err
}
