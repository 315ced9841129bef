package selftest

// Marker begins everything that is planted outside of the grants. Whoever reads
// it inside a jail has got out.
const Marker = "omnijail-selftest-canary"

// Site is what an attempt is told about the world outside, as JSON. What the node
// or the policy does not have is empty, and what needs it is not run.
type Site struct {
	Dir   string `json:"dir"`             // the workspace: working directory of every attempt
	Write bool   `json:"write,omitempty"` // it is granted for writing

	Secret    string   `json:"secret"`               // a file of the caller's that is not granted
	Home      string   `json:"home,omitempty"`       // the caller's home outside
	HomeEntry string   `json:"home_entry,omitempty"` // a name in it
	Control   string   `json:"control,omitempty"`    // the daemon's socket
	Socket    string   `json:"socket"`               // a Unix socket that is not granted
	Abstract  string   `json:"abstract"`             // an abstract one
	Port      int      `json:"port"`                 // TCP and UDP of the node's loopback
	Addrs     []string `json:"addrs,omitempty"`      // the node's other addresses; Port is open there too
	Victim    int      `json:"victim"`               // a process of the caller's
	ShmKey    int      `json:"shm_key,omitempty"`    // System V shared memory
	Queue     string   `json:"queue,omitempty"`      // a POSIX message queue

	Terminals uint64   `json:"terminals,omitempty"` // device number of the node's /dev/pts
	Absent    []string `json:"absent,omitempty"`    // what attempts look for and the node does not have

	Names    bool   `json:"names,omitempty"`     // the rules and the binding of policy.go are in force
	TokenSum string `json:"token_sum,omitempty"` // hex SHA-256 of the credential
	Upstream string `json:"upstream,omitempty"`  // a name that answers, allowed below /open/

	Via      string `json:"via,omitempty"`      // without a jail: where every name and address is
	Resolver string `json:"resolver,omitempty"` // without a jail: the name server
	Backend  string `json:"backend,omitempty"`
}

// Names that the suite's own rules speak of. They exist nowhere.
const (
	allowedName = "allowed.selftest.invalid" // GET,HEAD /open/**, but /open/denied/**
	otherName   = "other.selftest.invalid"   // any method, any path, no credential
	boundName   = "bound.selftest.invalid"   // any method, any path; /in/** carries the credential
	tokenEnv    = "SELFTEST_TOKEN"           // its placeholder
	tokenSource = "SELFTEST_SECRET"          // where the client has the credential
	carriedEnv  = "SELFTEST_CLOUD_SECRET_KEY"
)
