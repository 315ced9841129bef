package mitm

import (
	"github.com/omnijail/omnijail/creds"
)

// unsign puts the query of a signed address back, where the jail has a placeholder
// for it: what is judged and sent is the address that the upstream signed.
func (x *exchange) unsign() {
	query, binding := x.g.Table.Signed(x.s.scheme, x.s.authority, x.target.path, x.target.query)
	if x.signedBy = binding; binding >= 0 {
		x.target.query = revealed(query)
	}
}

// rawTarget is the target in which no placeholder may be.
func (x *exchange) rawTarget() string {
	if x.signedBy >= 0 {
		return x.target.path
	}
	return x.req.RequestURI
}

// judgeSigned goes by what the credential table says of a request for a signed
// address, but for the credential: the address has one.
func (x *exchange) judgeSigned() *refusal {
	switch x.cred.Action {
	case creds.Attach, creds.Exchange:
		if len(x.cred.Replace) > 0 || x.cred.Action == creds.Exchange {
			return x.misused() // two at once
		}
		x.cred.Action = creds.Strip
	}
	no := x.judgeAction()
	x.binding = x.signedBy
	return no
}
