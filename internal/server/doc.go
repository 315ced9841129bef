// Package server is the control socket's HTTP side: who is calling, what they may
// do, and the routes. It decides access; the Manager behind it does the work.
//
// A peer is who the kernel says it is. Nothing in a request can change that, so
// every handler takes the caller from the connection and there is no handler
// without one.
package server
