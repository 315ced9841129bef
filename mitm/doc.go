// Package mitm carries a jail's connections to the outside, and judges each
// request on the way. It runs in the egress process, one Proxy per jail.
//
// A connection arrives on a listener of the jail's network namespace. Its local
// address is the destination that the jail asked for; Names turns a synthetic
// address back into the name. That name and port are the authority of all that
// follows: SNI, Host and the dialled name must equal it. The first bytes decide
// what the connection is:
//
//	TLS            the Proxy answers with a leaf for the authority, signed by the
//	               jail's own CA, and serves HTTP/1.1 or HTTP/2 inside
//	               (or passes it on as it is, where rules do not ask to read it)
//	HTTP           served as it is; only an http:// rule can allow a request
//	a tcp:// rule  bytes are carried both ways, counted and not read
//	SSH            a disconnect message that says what to do instead
//	all else       closed, and audited
//
// A client that was told of a proxy comes to another listener and names the
// authority itself, in a CONNECT or in each request (explicit.go). Behind a CONNECT
// the same first bytes decide.
//
// A request passes these steps, and each may answer it with a refusal:
//
//	read      head.go     one strict head: what two parsers could read in two
//	                      ways is an error; streamhead.go holds
//	                      HTTP/2 to the same
//	gate      gate.go     the method, the target, Host, hop-by-hop headers
//	judge     judge.go    the rules, then the credential table
//	record    exchange.go the audit has acknowledged the request
//	attach    attach.go   the credential, in the only file that reveals one
//	send      lanes.go    a connection that belongs to one jail and credential,
//	                      to an address that passed the guard
//	search    search.go   the reply of a host with a credential: secrets in it are
//	                      masked, session cookies stay in the jar
//	reply     reply.go    streamed back as it comes
//
// The policy can be replaced (generation.go). A request belongs to one generation
// from its judgement to its end, and is cut when another takes its place that would
// not allow it.
//
// Everything fails closed. A missing rule, a silent auditor, an address that
// cannot be classified: all of them are refusals with a body that says why.
package mitm
