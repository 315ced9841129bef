package child

// OpenRequest is what the daemon asks the scout (omnijail-init open), a child
// that has become the caller, to resolve. It travels as JSON in one packet.
type OpenRequest struct {
	User       User     `json:"user"`
	View       View     `json:"view"`
	Argv0      []byte   `json:"argv0"`       // as typed; looked up in Path when it holds no slash; nil: nothing is run yet
	Path       string   `json:"path"`        // the caller's PATH
	SystemDirs []string `json:"system_dirs"` // trees that the jail has from the node
	Stdio      bool     `json:"stdio"`       // receive and vet the client's descriptors on fd 4
	SecretFDs  []string `json:"secret_fds"`  // one sealed memfd each, after stdio, in this order
	TTY        bool     `json:"tty"`         // terminals on 0, 1 and 2 become the jail's own PTY
	GitConfig  bool     `json:"git_config"`  // read the caller's global git identity
	Watch      bool     `json:"watch"`       // a WatchRequest follows on the same connection, and then perhaps more for the same caller
}

// OpenReply is the scout's answer. It is worth as much as the caller's own word:
// names in it are used as destinations below a root-owned tree and in messages,
// never as a path that root opens. Descriptors follow in the order of the fields:
// one per Grant, one per Pin that exists, then stdio, then secrets.
type OpenReply struct {
	Err    *OpenError   `json:"err,omitempty"`
	Grants []OpenGrant  `json:"grants,omitempty"`
	Cwd    string       `json:"cwd,omitempty"`  // canonical working directory
	Exec   string       `json:"exec,omitempty"` // absolute path to execute inside
	Git    []GitSetting `json:"git,omitempty"`
	Pins   []string     `json:"pins,omitempty"` // canonical paths of the pins that exist
	Stdio  []StdioKind  `json:"stdio,omitempty"`
	Hidden []string     `json:"hidden,omitempty"` // names masked at the top of cwd, for text 7
	Masked []string     `json:"masked,omitempty"` // names below cwd that the policy masks
	Notes  []string     `json:"notes,omitempty"`
	// Doors are the Unix sockets and FIFOs in grants that are hidden.
	Doors []string `json:"doors,omitempty"`
	// Shared are directories of installed files that are hard links.
	Shared []string `json:"shared,omitempty"`
	// Repository is the .git around Cwd where git in the jail finds no repository.
	Repository string `json:"repository,omitempty"`
	// Linked says that it is a file, of a worktree or submodule, whose repository is
	// not granted.
	Linked bool `json:"linked,omitempty"`
	// Exposed are those of the grants that no policy named: the command needs them.
	Exposed []string `json:"exposed,omitempty"`
	// OwnJava says that the command may run a JDK with a store of its own.
	OwnJava bool `json:"own_java,omitempty"`
}

// OpenGrant is one opened grant. Its descriptor is O_PATH.
type OpenGrant struct {
	Path  string `json:"path"` // canonical destination inside
	Dir   bool   `json:"dir"`
	Write bool   `json:"write"`
	// Names below the grant, one or more components, that the second phase
	// turns into descriptors below the staged tree, each name in one list. Held
	// ones are directories bound onto themselves as they are, because renaming
	// the parent of a protected name would carry the protection away.
	Held     []OpenName `json:"held,omitempty"`
	Masked   []OpenName `json:"masked,omitempty"`   // hidden behind an empty file or directory
	ReadOnly []OpenName `json:"readonly,omitempty"` // bound onto themselves, read-only
	// Git are the git directories that were found below a writable grant, by
	// name; "." is the grant itself. What of them exists and must not change is
	// in ReadOnly; what does not exist yet is for a watch to keep away.
	Git Names `json:"git,omitempty"`
}

// OpenError is a refusal in the shape of the API's own errors.
type OpenError struct {
	Code   string `json:"code"` // "no_such_path", "stdio", "not_found", "not_executable", …
	Exit   int    `json:"exit"` // 125, 126 or 127
	Reason string `json:"reason"`
	Fix    string `json:"fix,omitempty"`
}

func (e *OpenError) Error() string { return e.Reason }

// GitSetting is one allowed line of the caller's global git configuration.
type GitSetting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// StdioKind says what the scout found on descriptor 0, 1 or 2.
type StdioKind string

// What may be donated as it is; everything else is refused.
const (
	StdioPipe   StdioKind = "pipe"
	StdioSocket StdioKind = "socket" // connected AF_UNIX stream, peer none of our listeners
	StdioDevice StdioKind = "device" // /dev/null, zero, full, random, urandom
	StdioFile   StdioKind = "file"   // a regular file that the policy grants
	StdioTTY    StdioKind = "tty"    // never donated: replaced by the jail's PTY, else refused
)
