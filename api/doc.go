// Package api is what a program outside a jail uses to talk to omnijaild: the
// wire types of the Unix-socket API and a Go client for it.
//
// A Client's zero value dials the default socket. It sends nothing before the
// server has proved to be root's: whoever may create a socket could otherwise
// collect the policies, secrets and descriptors of its callers.
//
// openapi.yaml in this folder describes the same routes for other languages.
package api
