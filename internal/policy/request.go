package policy

import (
	"github.com/omnijail/omnijail/internal/jail"
)

// Request is one exec as the daemon knows it: who the command runs as comes from
// the kernel, the rest from the caller.
type Request struct {
	Argv         []string
	Cwd          string    // absolute
	User         jail.User // who the command runs as; Groups is ignored, Compile fills it
	CallerUID    uint32
	CallerGroups []Group // of the connection; the jail's are some of these

	// Own says that the caller's access includes policies of its own. Without it
	// (confined callers never have it) even an open policy takes no addition,
	// since a preset with additions is a policy of one's own.
	Own       bool
	Add       Add
	Env       map[string]string // --env
	Limits    jail.Limits       // what was asked for
	TTY       bool
	Backend   string   // empty: the policy's
	SecretFDs []string // variables whose values the client sends
	Session   bool     // a jail for several commands; Argv may be empty
	Publish   []uint16 // --publish
	NodePorts []uint16 // --node-port
}

// Group is a group of the connection and its name, if it has one.
type Group struct {
	Name string
	GID  uint32
}

// Add is what a request adds to the policy.
type Add struct {
	Presets []string
	Write   []string
	Read    []string
	Allow   []string
}

// Facts is what a Spec depends on besides policy and request: the node, and what
// the operator says once.
type Facts struct {
	// Guarantees lists what each backend promises on this node. A backend that
	// is not in it cannot run here.
	Guarantees map[string][]jail.Guarantee
	// Obstacles says of each backend that cannot run here why not.
	Obstacles map[string]Obstacle
	// Backends is the order of preference where a policy names none.
	Backends []string
	// System lists the trees that a jail has from the node.
	System []SystemDir
	// SocketGID is the group that may command the daemon; it is never passed on.
	SocketGID uint32
	// Limits are the operator's: what holds where nothing is asked for, and the
	// most that can be.
	Limits jail.Limits
	// Reserved are further trees that no grant may touch: the daemon's own.
	Reserved []string
}

// Obstacle is what keeps a backend from running, and what to do about it.
type Obstacle struct {
	Reason, Fix string
}

// SystemDir is a system tree of the node: a directory, or a link such as
// /bin -> usr/bin.
type SystemDir struct {
	Path string
	Link string // target, empty for a directory
}
