package api

import "encoding/json"

// ExecRequest asks for one command in a one-shot jail: POST /v1/exec. POST
// /v1/jails takes the same for a session jail, where Argv may be absent.
// Argv and ArgvB64 exclude each other; the second is for arguments that are not
// UTF-8, which JSON cannot carry. The same holds for Cwd and CwdB64.
type ExecRequest struct {
	Argv    []string `json:"argv,omitempty"`
	ArgvB64 [][]byte `json:"argv_b64,omitempty"`
	Cwd     string   `json:"cwd,omitempty"`
	CwdB64  []byte   `json:"cwd_b64,omitempty"`

	// Env is what the person asked for by name (--env). Context is what the
	// client's own environment holds of the variables that a policy may pass on
	// and that a credential command needs; the daemon picks from it by name.
	Env     map[string]string `json:"env,omitempty"`
	Context map[string]string `json:"context,omitempty"`
	// Ask has a policy of the daemon's that wants more of that environment refuse
	// with a Wants, in place of a question before each request.
	Ask bool `json:"ask,omitempty"`

	// Policy is a JSON string (a name) or an object (a flattened document).
	// Absent: the daemon's default policy.
	Policy json.RawMessage `json:"policy,omitempty"`
	Add    Add             `json:"add,omitzero"`

	SecretFDs []string `json:"secret_fds,omitempty"` // variables whose values follow as sealed memfds
	Timeout   string   `json:"timeout,omitempty"`    // Go duration
	Memory    string   `json:"memory,omitempty"`     // a size: 512MiB, 1g
	Pids      int64    `json:"pids,omitempty"`
	TTY       *Size    `json:"tty,omitempty"`
	User      string   `json:"user,omitempty"` // root callers only: NAME, UID or UID:GID
	Backend   string   `json:"backend,omitempty"`

	Publish   []uint16 `json:"publish,omitempty"`    // ports of the jail, on the node's loopback
	NodePorts []uint16 `json:"node_ports,omitempty"` // ports of the node's loopback, in the jail
}

// CommandRequest asks for one more command in a session jail: POST
// /v1/jails/{id}/exec. Its fields are those of an ExecRequest; everything else was
// decided when the jail was made. Without Cwd the jail's own is taken.
type CommandRequest struct {
	Argv    []string          `json:"argv,omitempty"`
	ArgvB64 [][]byte          `json:"argv_b64,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	CwdB64  []byte            `json:"cwd_b64,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Context map[string]string `json:"context,omitempty"`
	Timeout string            `json:"timeout,omitempty"`
	TTY     *Size             `json:"tty,omitempty"`
	Detach  bool              `json:"detach,omitempty"` // without a client; the request is no upgrade then
}

// Add is what a request adds to the chosen policy, within the caller's access.
type Add struct {
	Presets []string `json:"presets,omitempty"`
	Write   []string `json:"write,omitempty"`
	Read    []string `json:"read,omitempty"`
	Allow   []string `json:"allow,omitempty"`
}

// Size is a terminal's.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Event is one line from the daemon on an exec's connection. Exactly one field
// is set. Exit is always the last.
type Event struct {
	Started *Started `json:"started,omitempty"`
	PTY     *Size    `json:"pty,omitempty"` // comes with the master's descriptor
	Denied  *Denied  `json:"denied,omitempty"`
	Note    *Note    `json:"note,omitempty"`
	Exit    *Exit    `json:"exit,omitempty"`
}

// Started says that the command runs, and in what.
type Started struct {
	Jail       string    `json:"jail"`
	Backend    string    `json:"backend"`
	Policy     string    `json:"policy"`
	Guarantees []string  `json:"guarantees"`
	Bindings   []Binding `json:"bindings,omitempty"`
	Exposed    []string  `json:"exposed,omitempty"` // shown for the command, read-only, though no policy grants it
	Notes      []string  `json:"notes,omitempty"`   // what its owner should know about the files
}

// Binding is a credential that requests of this jail may carry; never its value.
type Binding struct {
	Name  string   `json:"name"`
	Hosts []string `json:"hosts"`
}

// Denied is one refusal, as the owner sees it. Kind is request, file, syscall,
// limit or credential. Text is the sentence for a person; Stderr is what a
// credential command said when it gave no value, for a person's terminal only.
type Denied struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	What string `json:"what"`
	Rule string `json:"rule,omitempty"`
	Fix  string `json:"fix,omitempty"`
	Text string `json:"text,omitempty"`

	Stderr []string `json:"stderr,omitempty"`
}

// Note is a line for the owner that is no refusal.
type Note struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// Exit ends an exec. Code is what a shell would show: the command's own, 128+n
// after a signal, 124 timeout, 125 omnijail failed, 126 not executable, 127 not
// found. Reason is empty when the code is the command's.
type Exit struct {
	Code   int    `json:"code"`
	Signal int    `json:"signal,omitempty"`
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
	ID     string `json:"id,omitempty"` // of the refusal that it was, for why
	Limits string `json:"limits,omitempty"`
}

// Control is one line from the client on an exec's connection.
type Control struct {
	Signal int   `json:"signal,omitempty"`
	Resize *Size `json:"resize,omitempty"`
}

// UpgradeProtocol is the value of the Upgrade header of POST /v1/exec.
const UpgradeProtocol = "omnijail-exec"

// MaxRequest bounds a request's body in bytes.
const MaxRequest = 4 << 20
