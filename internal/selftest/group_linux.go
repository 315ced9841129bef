package selftest

// group is a jail that several attempts share.
type group string

// The groups. An attempt that kills its process, or leaves one, has a jail of its
// own: its drive starts it.
const (
	inside   group = ""         // the workspace is writable
	readonly group = "readonly" // it is not
	terminal group = "terminal" // with a terminal
	network  group = "network"  // with rules and a credential
	compat   group = "compat"   // where the kernel may end the process for its calls
	carried  group = "carried"  // the client's own environment and descriptors are full of what must stay outside
)

var groups = []group{inside, readonly, terminal, network, compat, carried}

// needsWrite reports whether the jail of g has a writable workspace.
func (g group) needsWrite() bool { return g != readonly }
