package child

// ScoutAsk is the first packet to a scout: who it becomes and what it does then.
// Exactly one of the fields after Listeners is set.
type ScoutAsk struct {
	As Credential `json:"as"`
	// Listeners are the paths of our own sockets, as bound: a connection to one
	// of them is never donated to a jail.
	Listeners []string        `json:"listeners,omitempty"`
	Open      *OpenRequest    `json:"open,omitempty"`
	Source    *SourceRequest  `json:"source,omitempty"`
	Observe   *ObserveRequest `json:"observe,omitempty"`
	Pump      *PumpRequest    `json:"pump,omitempty"`
	Watch     *WatchRequest   `json:"watch,omitempty"`
	Gate      *GateRequest    `json:"gate,omitempty"`
	Cache     *CacheRequest   `json:"cache,omitempty"`
	Restore   *RestoreRequest `json:"restore,omitempty"`
	// Again asks a scout that has stayed whether it is still there: it answers with
	// ScoutHere, and is then asked to open.
	Again bool `json:"again,omitempty"`
}

// ScoutHere is the answer of a scout that has stayed.
type ScoutHere struct{}

// Credential is what the kernel says of the caller. A scout with uid 0 or gid 0
// does nothing.
type Credential struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"`
}

// ScoutNames asks for the names below the trees that come with it, one descriptor
// per OpenGrant. There is no field: the scout knows what it answered before. Where
// the grants have layers it answers with ScoutLayers first, and waits for a second
// ScoutNames with one tree per layer.
type ScoutNames struct{}

// ScoutLayers comes with one O_PATH descriptor for each layer of each grant.
type ScoutLayers struct {
	Err *OpenError `json:"err,omitempty"`
}

// ScoutNamesReply says which names were there. Each entry stands for one name in
// the order grant by grant, within a grant Held, ReadOnly, Masked; a descriptor
// follows for each true one, found below the tree of its layer or of the grant.
type ScoutNamesReply struct {
	Err   *OpenError `json:"err,omitempty"`
	Found []bool     `json:"found,omitempty"`
}

// SourceRequest asks for the value of the first source that has one. Descriptors
// follow: the write end of the pipe for the value, that for the error output, and
// one O_PATH descriptor per tree that the jail may write.
type SourceRequest struct {
	Sources []Source `json:"sources"`
	Home    string   `json:"home"`
	Env     []string `json:"env"` // KEY=VALUE: all that a command gets
}

// Source is a file or a command; exactly one is set.
type Source struct {
	File string   `json:"file,omitempty"` // may begin with ~/
	Argv []string `json:"argv,omitempty"`
}

// SourceReply says what became of a SourceRequest. It never holds a value.
type SourceReply struct {
	OK     bool   `json:"ok"`
	Index  int    `json:"index"`          // of the source that answered or, on failure, decided
	Exit   int    `json:"exit,omitempty"` // of a command that failed
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// CacheRequest asks what lies in the directories whose descriptors come with it,
// or for all that to be removed.
type CacheRequest struct {
	Empty  bool  `json:"empty"`  // remove it
	Enough int64 `json:"enough"` // bytes after which counting may stop
	Millis int64 `json:"millis"` // time after which the scout stops
}

// CacheReply says what was found. It is worth as much as the caller's own word.
type CacheReply struct {
	Bytes int64  `json:"bytes"`
	More  bool   `json:"more"` // there may be more, or some is left
	Err   string `json:"err,omitempty"`
}
