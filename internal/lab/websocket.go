package lab

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
)

// webSocket answers a handshake and sends back the payload of each short frame,
// until the client closes.
func webSocket(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if r.Header.Get("Upgrade") != "websocket" || key == "" {
		w.WriteHeader(http.StatusUpgradeRequired)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusHTTPVersionNotSupported) // a stream of HTTP/2
		return
	}
	defer conn.Close()
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	const opClose, short = 0x8, 125
	var head [6]byte // of a masked frame of at most 125 bytes
	for {
		if _, err := io.ReadFull(rw, head[:]); err != nil || head[1]&0x7f > short {
			return
		}
		payload := make([]byte, head[1]&0x7f)
		if _, err := io.ReadFull(rw, payload); err != nil {
			return
		}
		for i := range payload {
			payload[i] ^= head[2+i%4]
		}
		if _, err := conn.Write(append([]byte{head[0], byte(len(payload))}, payload...)); err != nil || head[0]&0xf == opClose {
			return
		}
	}
}
