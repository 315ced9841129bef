package jail

import "github.com/omnijail/omnijail/internal/child"

// Launch is what omnijail-init run applies as the last step inside.
type Launch = child.Launch

// StartError says why a command did not start.
type StartError = child.StartError

// EncodeLaunch returns the bytes of l, as they travel in a sealed memfd.
func EncodeLaunch(l *Launch) ([]byte, error) { return child.EncodeLaunch(l) }
