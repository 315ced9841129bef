// Package egress is the language of what may leave a jail: authorities, rules,
// and the decision. It is pure: no I/O, no clock, no global state.
//
// An Authority is where a request goes; only the strict parsers of this package
// make one. A Rule is one line of a policy, in the string form
//
//	METHODS HOST[:PORT][/PATH-GLOB]     GET,HEAD api.github.com/repos/**
//	METHODS http://HOST[:PORT][/GLOB]   GET http://deb.debian.org/**
//	tcp://HOST:PORT                     tcp://db.example.com:5432
//	!RULE                               !* api.github.com/user/keys/**
//
// or filled in field by field and passed through Check. Compile turns rules into
// Rules, whose Decide is the one decision: a matching deny rule refuses, else a
// matching allow rule allows, else the request is refused. No rules is no
// network. The order of rules has no meaning.
//
// Paths are judged in the form that NormalizePath returns, and those very bytes
// must be the ones sent upstream. A path that two servers could read in two ways
// is never judged by a rule with a path: CheckPath says which those are.
package egress
