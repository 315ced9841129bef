package api

import (
	"fmt"
	"net/http"
)

// Error is a refusal. It is the JSON body {"error": …} of every reply that is
// not 2xx or 101, and what the Client's methods return for one.
type Error struct {
	Status    int        `json:"-"`
	Code      string     `json:"code"`
	Reason    string     `json:"reason"`
	Fix       string     `json:"fix,omitempty"`
	ID        string     `json:"id,omitempty"`
	Positions []Position `json:"positions,omitempty"` // of a policy's errors
	Wants     *Wants     `json:"wants,omitempty"`     // of a request that asked
}

// Wants are the names of variables that a policy would have of the client's.
type Wants struct {
	Context []string `json:"context,omitempty"`
	Secrets []string `json:"secrets,omitempty"` // as sealed memfds
}

// Position is one error of a policy document.
type Position struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	Key  string `json:"key,omitempty"`
	Msg  string `json:"msg"`
	Fix  string `json:"fix,omitempty"`
}

func (e *Error) Error() string { return e.Reason }

// Refuse makes an Error with a formatted reason.
func Refuse(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Reason: fmt.Sprintf(format, args...)}
}

// Hint returns e with what to type.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Fix = fmt.Sprintf(format, args...)
	return e
}

// NotFound is the one answer for what does not exist and for what belongs to
// somebody else: the two cannot be told apart.
func NotFound() *Error {
	return &Error{Status: http.StatusNotFound, Code: "not_found", Reason: "no such thing, or it is not yours"}
}
