package child

// Launch is what omnijail-init run applies as the last step inside: it travels
// as one sealed memfd, the first of the files that come with the go, so that no
// value of the caller's stands in an argument list or an environment of a
// privileged process. Strings are bytes because an
// argument need not be UTF-8.
type Launch struct {
	Exec   string // absolute path to execute
	Argv   [][]byte
	Env    [][]byte // KEY=VALUE
	Cwd    string
	Home   string // the jail's own, for what is copied into it; empty for nothing
	UID    uint32
	GID    uint32
	Groups []uint32
	TTY    bool // setsid, and descriptor 0 becomes the controlling terminal
	Wall   WallMode
	Places []Place // what the wall lets through
	NoUnix bool    // no Unix sockets but pairs: the wall does not keep from those of others
	// Observer is the socket to which init sends the descriptor of the jail's
	// notifications, by its number among the files that come with the go; 0 when
	// the jail is not observed.
	Observer int
	Stdio    [3]int // numbers of the files that become 0, 1, 2; -1 is /dev/null
	Limits   []Rlimit
	// Processors are the numbers of those that the command is started on; none for
	// all. It may use others again: what it may use of them is its cgroup's to say.
	Processors []uint32
}

// FirstFile is the number of the first file that comes with the go after the
// record itself, and MaxFiles of the last that may.
const (
	FirstFile = 1
	MaxFiles  = 4
)

// FirstDonated is the lowest descriptor that a child inherits besides 0, 1 and 2.
const FirstDonated = 3

// Rlimit lowers one resource limit below the table that every jail gets.
// Resource is the kernel's number (RLIMIT_NOFILE is 7); a limit that would be
// higher than the inherited hard limit is cut to it.
type Rlimit struct {
	Resource   uint32
	Soft, Hard uint64
}
