package mitm

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// searched reports whether replies of this host are searched for secrets: it has
// been told one, by this request or by another.
func (x *exchange) searched() bool {
	return x.binding >= 0 || x.g.Table.Searched(x.s.authority.Host())
}

// narrow asks for a reply that can be searched: as it is, and whole. A range gives
// a secret away four bytes at a time.
func (x *exchange) narrow(h http.Header) {
	if !x.searched() {
		return
	}
	h["Accept-Encoding"] = []string{"identity"}
	for _, name := range messageOffers {
		if _, ok := h[name]; ok {
			h[name] = []string{"identity"}
		}
	}
	if !x.mayBePartial() {
		delete(h, "Range")
		delete(h, "If-Range")
	}
}

// mayBePartial reports whether the jail may ask for a part of a reply: the end of a
// token would look like anything.
func (x *exchange) mayBePartial() bool {
	return x.verdict.Range && (x.binding < 0 || !x.g.OnMinted.withholds())
}

// search makes resp a reply in which secrets are masked, or refuses it.
func (x *exchange) search(ctx context.Context, resp *http.Response) error {
	x.unsearched.Store(true) // before it is asked: who tells the host a token meanwhile cuts this
	if !x.searched() {
		return nil
	}
	x.unsearched.Store(false)
	if resp.StatusCode == http.StatusPartialContent && !x.mayBePartial() {
		return x.unsearchable("partial_reply")
	}
	if codedMessages(resp.Header) {
		return x.unsearchable("coded_messages")
	}
	if err := x.decode(resp); err != nil {
		return err
	}
	if err := x.captureMinted(resp); err != nil {
		return err
	}
	table := x.g.Table
	// The names of trailers are announced in the head.
	hits := searchHeader(table, resp.Header) + searchHeader(table, resp.Trailer)
	if err := x.reflected(ctx, hits); err != nil {
		return err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil // its frames are searched as they come
	}
	resp.Body = &searchedBody{
		ReadCloser: resp.Body,
		scrub:      table.NewScrubber(),
		hit:        func(hits int) error { return x.reflected(ctx, hits) },
		end:        func() error { return x.reflected(ctx, searchHeader(table, resp.Trailer)) },
	}
	return nil
}

// unsearchable refuses a reply that could hold a secret unseen.
func (x *exchange) unsearchable(class string) *refusal {
	return refuse(http.StatusBadGateway, audit.CodeUpstreamProto, x.s.authority.Host()+": "+class)
}

// searchHeader masks the values of h and counts what it found. A field whose name
// holds a secret is dropped: its name has no case, and a mask none that is allowed.
func searchHeader(table *creds.Table, h http.Header) (hits int) {
	for name, values := range h {
		if _, n := table.ScrubText(name); n > 0 {
			hits += n
			delete(h, name)
			continue
		}
		for i, v := range values {
			clean, n := table.ScrubText(v)
			if n > 0 {
				hits, values[i] = hits+n, clean
			}
		}
	}
	return hits
}

// searchedBody is a reply's body on its way through the search.
type searchedBody struct {
	io.ReadCloser
	scrub *creds.Scrubber
	hit   func(hits int) error // what a secret leads to
	end   func() error         // called at the end, when the trailers are there
	out   []byte               // has been searched
	err   error                // follows out
}

// Read returns as soon as a byte can go on. A *refusal ends the reply.
func (b *searchedBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		out, hits, err := b.scrub.Read(b.ReadCloser, p)
		if no := b.hit(hits); no != nil {
			b.err = no
			return 0, no
		}
		b.out, b.err = out, err
		if errors.Is(err, io.EOF) {
			b.out = append(out[:len(out):len(out)], b.scrub.Rest()...)
			if no := b.end(); no != nil {
				b.err = no
			}
		}
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}
