package dnsstub

import (
	"errors"

	"golang.org/x/net/dns/dnsmessage"
)

// maxMessage is the largest query that is looked at.
const maxMessage = 4096

// query is what the stub reads of a message.
type query struct {
	header   dnsmessage.Header
	question dnsmessage.Question
	asked    bool // question is set
	edns     bool
	version  uint8 // of EDNS
}

var (
	errNoQuery  = errors.New("not a query that can be answered at all")
	errQuestion = errors.New("not exactly one question")
)

// parse reads a message from the jail. With errNoQuery there is nothing to answer
// to; with any other error there is a header, which deserves a format error.
func parse(msg []byte) (q query, err error) {
	var p dnsmessage.Parser
	if len(msg) > maxMessage {
		return q, errNoQuery
	}
	if q.header, err = p.Start(msg); err != nil || q.header.Response {
		return q, errNoQuery
	}
	if q.question, err = p.Question(); err != nil {
		return q, err
	}
	if _, err = p.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return q, errQuestion
	}
	q.asked = true
	if err = errors.Join(p.SkipAllAnswers(), p.SkipAllAuthorities()); err != nil {
		return q, err
	}
	return q, q.parseEDNS(&p)
}

// parseEDNS looks for the OPT record among the additional ones.
func (q *query) parseEDNS(p *dnsmessage.Parser) error {
	for {
		h, err := p.AdditionalHeader()
		switch {
		case errors.Is(err, dnsmessage.ErrSectionDone):
			return nil
		case err != nil:
			return err
		case h.Type == dnsmessage.TypeOPT && q.edns:
			return errors.New("more than one OPT record")
		case h.Type == dnsmessage.TypeOPT:
			q.edns, q.version = true, uint8(h.TTL>>16)
		}
		if err := p.SkipAdditional(); err != nil {
			return err
		}
	}
}
