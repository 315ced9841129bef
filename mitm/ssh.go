package mitm

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

const (
	sshDisconnect       = 1 // SSH_MSG_DISCONNECT, RFC 4253 section 11.1
	sshNotAllowed       = 1 // SSH_DISCONNECT_HOST_NOT_ALLOWED_TO_CONNECT
	sshBlock            = 8 // packets are padded to this before any cipher is agreed
	sshMaxHello         = 64 << 10
	sshFarewellDeadline = 5 * time.Second
)

// writeDisconnect ends an SSH connection before key exchange with a text that
// the client prints. The client may still be sending, so it is read out for a
// moment: a reset would take the text away again.
func writeDisconnect(conn net.Conn, text string) {
	conn.SetDeadline(time.Now().Add(sshFarewellDeadline))
	msg := append([]byte("SSH-2.0-omnijail\r\n"), disconnectPacket(text)...)
	if _, err := conn.Write(msg); err != nil {
		return
	}
	if w, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
	_, _ = io.CopyN(io.Discard, conn, sshMaxHello)
}

// disconnectPacket is one unencrypted binary packet (RFC 4253 section 6).
func disconnectPacket(text string) []byte {
	payload := []byte{sshDisconnect}
	payload = binary.BigEndian.AppendUint32(payload, sshNotAllowed)
	payload = binary.BigEndian.AppendUint32(payload, uint32(len(text)))
	payload = append(payload, text...)
	payload = binary.BigEndian.AppendUint32(payload, 0) // no language tag

	padding := sshBlock - (4+1+len(payload))%sshBlock
	if padding < 4 {
		padding += sshBlock
	}
	packet := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding))
	packet = append(packet, byte(padding))
	packet = append(packet, payload...)
	return append(packet, make([]byte, padding)...)
}
