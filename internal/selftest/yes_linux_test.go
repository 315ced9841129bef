package selftest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/omnijail/omnijail/internal/lab"
)

// yesSayers are a server and a name server that refuse nothing.
func yesSayers() (server, resolver string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", "", err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS10,
	}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c := config.Clone()
		c.GetConfigForClient, c.NextProtos = nil, hello.SupportedProtos
		return c, nil
	}
	server, err = both(
		func(c net.Conn) {
			r := bufio.NewReader(c)
			if first, err := r.Peek(1); err == nil && first[0] == 0x16 {
				sayYes(tls.Server(peeked{c, r}, config))
				return
			}
			sayYes(peeked{c, r})
		},
		func(q []byte) []byte { return q })
	if err != nil {
		return "", "", err
	}
	resolver, err = both(
		func(c net.Conn) {
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			q := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, q); err != nil {
				return
			}
			a := resolveAny(q)
			c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...))
		}, resolveAny)
	return server, resolver, err
}

// both serves TCP and UDP at one port of loopback.
func both(tcp func(net.Conn), udp func([]byte) []byte) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		return "", err
	}
	go lab.Answer(l, tcp)
	go func() {
		b := make([]byte, 4096)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			p.WriteTo(udp(b[:n]), from)
		}
	}()
	return l.Addr().String(), nil
}

// sayYes answers whatever comes, as often as it looks like a request.
func sayYes(c net.Conn) {
	b := make([]byte, 128<<10)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		for range max(1, bytes.Count(b[:n], []byte(" HTTP/1.1\r\n"))) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
}

// peeked is a connection whose first bytes were looked at.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// resolveAny has an address for every question.
func resolveAny(q []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(q) != nil || len(m.Questions) == 0 {
		return nil
	}
	m.Response = true
	m.Answers = []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 1},
		Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
	}}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}
