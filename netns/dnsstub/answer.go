package dnsstub

import (
	"fmt"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/omnijail/omnijail/internal/egress"
)

// ttl of an answer, in seconds. The mapping is stable, the rules may change.
const ttl = 60

// badVersion is the extended code for an EDNS version that is not ours.
const badVersion = dnsmessage.RCode(16)

// answer returns the reply to one message from the jail, nil for none.
func (c *Config) answer(msg []byte) (reply []byte) {
	defer func() {
		if v := recover(); v != nil {
			reply = nil
			if c.Panicked != nil {
				c.Panicked(v)
			}
		}
	}()
	if c.Heed != nil {
		c.Heed()
	}
	q, err := parse(msg)
	if err == errNoQuery {
		return nil
	}
	code, body := dnsmessage.RCodeFormatError, dnsmessage.ResourceBody(nil)
	if err == nil {
		code, body = c.resolve(q)
	}
	return q.reply(code, body)
}

// resolve decides. A nil body with RCodeSuccess is an empty answer: the name
// exists and has no such record.
func (c *Config) resolve(q query) (dnsmessage.RCode, dnsmessage.ResourceBody) {
	switch {
	case q.header.OpCode != 0:
		return dnsmessage.RCodeNotImplemented, nil
	case q.version != 0:
		return badVersion, nil
	case q.question.Class != dnsmessage.ClassINET:
		return dnsmessage.RCodeRefused, nil
	}
	name := strings.TrimSuffix(q.question.Name.String(), ".")
	if host, ok := c.reverse(name); ok && q.question.Type == dnsmessage.TypePTR {
		return pointer(host)
	}
	if c.service(name, q.question.Type) {
		return dnsmessage.RCodeSuccess, nil
	}
	host, err := egress.ParseHost(name)
	if err != nil || !c.Allowed(host) {
		c.denied(name, typeName(q.question.Type))
		return dnsmessage.RCodeNameError, nil
	}
	return c.address(host, q.question.Type)
}

// Types of records about a service, which dnsmessage does not name.
const typeSVCB, typeHTTPS = dnsmessage.Type(64), dnsmessage.Type(65)

// grpcConfig is where gRPC's clients look for settings of a service.
const grpcConfig = "_grpc_config"

// service reports whether a client asks where a service of an allowed name is, as
// apt does first ("_https._tcp.deb.debian.org SRV"), or how to use it, as gRPC does
// ("_grpc_config.api.example TXT"): there is nothing to know, and nothing to report
// either.
func (c *Config) service(name string, t dnsmessage.Type) bool {
	first, host, _ := strings.Cut(name, ".")
	switch t {
	case dnsmessage.TypeTXT:
		if !strings.EqualFold(first, grpcConfig) {
			return false
		}
	case dnsmessage.TypeSRV, typeSVCB, typeHTTPS:
		second, rest, _ := strings.Cut(host, ".")
		if !strings.HasPrefix(first, "_") || !strings.HasPrefix(second, "_") {
			return false
		}
		host = rest
	default:
		return false
	}
	host, err := egress.ParseHost(host)
	return err == nil && c.Allowed(host)
}

// address answers for an allowed name.
func (c *Config) address(host string, t dnsmessage.Type) (dnsmessage.RCode, dnsmessage.ResourceBody) {
	if t != dnsmessage.TypeA && t != dnsmessage.TypeAAAA {
		return dnsmessage.RCodeSuccess, nil
	}
	v4, v6, err := c.Names.addrs(host, c.listed(host))
	if err != nil {
		c.limited(host, err)
		return dnsmessage.RCodeServerFailure, nil // "try later", to a resolver
	}
	if t == dnsmessage.TypeA {
		return dnsmessage.RCodeSuccess, &dnsmessage.AResource{A: v4.As4()}
	}
	return dnsmessage.RCodeSuccess, &dnsmessage.AAAAResource{AAAA: v6.As16()}
}

// Admit decides on an allowed name that the jail uses without a query, by naming
// it to the proxy. It counts like one that was asked for. Errors are
// ErrTooManyNames and ErrTooFast.
func (c *Config) Admit(host string) error {
	_, _, err := c.Names.addrs(host, c.listed(host))
	return err
}

func pointer(host string) (dnsmessage.RCode, dnsmessage.ResourceBody) {
	name, err := dnsmessage.NewName(host + ".")
	if err != nil {
		panic(fmt.Sprintf("omnijail: internal error: mapped name %q: %v", host, err))
	}
	return dnsmessage.RCodeSuccess, &dnsmessage.PTRResource{PTR: name}
}

// reply packs the reply: the question as it was asked, at most one record, and
// our OPT record when the query had one. It always fits a plain datagram.
func (q query) reply(code dnsmessage.RCode, body dnsmessage.ResourceBody) []byte {
	m := dnsmessage.Message{Header: dnsmessage.Header{
		ID: q.header.ID, Response: true, OpCode: q.header.OpCode, Authoritative: true,
		RecursionDesired: q.header.RecursionDesired, RecursionAvailable: true, RCode: code & 0xf,
	}}
	if q.asked {
		m.Questions = []dnsmessage.Question{q.question}
	}
	if body != nil {
		h := dnsmessage.ResourceHeader{Name: q.question.Name, Class: dnsmessage.ClassINET, TTL: ttl}
		m.Answers = []dnsmessage.Resource{{Header: h, Body: body}}
	}
	if q.edns {
		var h dnsmessage.ResourceHeader
		if err := h.SetEDNS0(maxMessage, code, false); err != nil {
			panic(fmt.Sprintf("omnijail: internal error: OPT record: %v", err))
		}
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}
	packed, err := m.Pack()
	if err != nil {
		panic(fmt.Sprintf("omnijail: internal error: pack reply: %v", err))
	}
	return packed
}

// typeName is a type as people write it: "A", "HTTPS", "99".
func typeName(t dnsmessage.Type) string { return strings.TrimPrefix(t.String(), "Type") }
