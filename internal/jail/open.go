package jail

import "github.com/omnijail/omnijail/internal/child"

// What the daemon asks a scout and what a scout answers. The types are apart, in
// package child, because the scout's program has to start at once.
type (
	// OpenRequest is what a scout is to resolve.
	OpenRequest = child.OpenRequest
	// OpenReply is the scout's answer, worth as much as the caller's own word.
	OpenReply = child.OpenReply
	// OpenGrant is one opened grant. Its descriptor is O_PATH.
	OpenGrant = child.OpenGrant
	// OpenName is a name below a grant.
	OpenName = child.OpenName
	// OpenError is a refusal in the shape of the API's own errors.
	OpenError = child.OpenError
	// GitSetting is one allowed line of the caller's global git configuration.
	GitSetting = child.GitSetting
	// StdioKind says what the scout found on descriptor 0, 1 or 2.
	StdioKind = child.StdioKind
	// SourceReply says what became of a SourceRequest. It never holds a value.
	SourceReply = child.SourceReply
)

// What may be donated as it is; everything else is refused.
const (
	StdioPipe   = child.StdioPipe
	StdioSocket = child.StdioSocket
	StdioDevice = child.StdioDevice
	StdioFile   = child.StdioFile
	StdioTTY    = child.StdioTTY
)

// CheckDest refuses a canonical path as the destination of a grant when it is the
// root, is or contains a place that the jail fills itself, or lies in a tree that
// is ours alone.
func CheckDest(dest, home string, system []string) error {
	return child.CheckDest(dest, home, system)
}

// Within reports whether the cleaned absolute path p is root or lies below it.
// It looks at the text alone.
func Within(root, p string) bool { return child.Within(root, p) }
