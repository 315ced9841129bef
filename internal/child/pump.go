package child

// PumpRequest makes a scout keep what a command without a client writes. One
// descriptor comes with it: the master of the command's terminal, or the read end
// of its output's pipe.
type PumpRequest struct {
	TTY bool `json:"tty"` // what attached clients type goes to the terminal
}

// PumpReply says that the scout keeps, or why it does not.
type PumpReply struct {
	Err *OpenError `json:"err,omitempty"`
}

// PumpAsk gives the scout one more connected stream. There is no answer.
type PumpAsk struct {
	Attach bool `json:"attach"` // both ways, from the last screenful on; else output alone, from the beginning
	Follow bool `json:"follow"` // output to come, too
}
