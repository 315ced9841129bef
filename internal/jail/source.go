package jail

import "github.com/omnijail/omnijail/creds"

// SourceRequest asks a scout for the value of the first source that has one.
type SourceRequest struct {
	Sources []creds.Source // kinds file and command
	Home    string         // what ~ means in a file
	Env     []string       // KEY=VALUE: all that a command gets
}
