package child

// ObserveRequest asks a scout to be told what the command of a jail calls. The end
// of a socket follows, on whose other end omnijail-init sends the descriptor of
// the jail's notifications.
type ObserveRequest struct {
	Grants []string `json:"grants"` // what the policy gives of the caller's files
}

// What an Observation can be about.
const (
	ObservedRead    = "read"    // a file that the jail does not show
	ObservedWrite   = "write"   // one that it does not let be written
	ObservedCall    = "syscall" // a system call that was refused
	ObservedNothing = "nothing" // something that could not be looked at
)

// Observation is one thing that a jail refused. The scout that says so is the
// caller: nothing in it is true of anybody else's jail, and nothing rests on it.
type Observation struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`             // the path, the call's name, or why nothing was seen
	Grant  string `json:"grant,omitempty"`  // the path that would have to be granted
	Hidden bool   `json:"hidden,omitempty"` // the file is granted, and something lies over it
	Weaken string `json:"weaken,omitempty"` // the weakening that gives the call back
}
