// Package explicit is the front for clients that were told of a proxy: it takes
// a CONNECT whose destination the caller has parsed and judged, and hands the
// tunnel back to the caller, who reads what is inside as on any other connection.
//
// It is the only package that knows goproxy. That library is told as little as
// possible: it gets a request made from the parsed destination, without a byte of
// the client's, and it may neither dial, nor mint, nor answer for an upstream.
// What else it could do is closed in New.
package explicit
