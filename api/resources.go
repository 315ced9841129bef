package api

import (
	"encoding/json"
	"time"
)

// Version answers GET /v1/version.
type Version struct {
	Version string `json:"version"`
	API     []int  `json:"api"`
}

// Jail is one live jail: GET /v1/jails and /v1/jails/{id}. A session takes
// commands until Expires or its end; any other jail ends with its one command.
type Jail struct {
	ID         string     `json:"id"`
	UID        uint32     `json:"uid"`
	Policy     string     `json:"policy"`
	Origin     string     `json:"origin"`
	Backend    string     `json:"backend"`
	Started    time.Time  `json:"started"`
	Session    bool       `json:"session"`
	State      string     `json:"state"`
	Reason     string     `json:"reason,omitempty"` // of StateDegraded
	Expires    time.Time  `json:"expires,omitzero"`
	Commands   int        `json:"commands"` // that run now
	Cwd        string     `json:"cwd"`
	Weaken     []string   `json:"weaken,omitempty"`
	Guarantees []string   `json:"guarantees,omitempty"`
	Rules      []string   `json:"rules,omitempty"`
	Limits     []string   `json:"limits,omitempty"`
	Publish    []uint16   `json:"publish,omitempty"`
	NodePorts  []uint16   `json:"node_ports,omitempty"`
	Bindings   []Binding  `json:"bindings,omitempty"`
	Detached   *Detached  `json:"detached,omitempty"`
	Background []Detached `json:"background,omitempty"` // commands started with detach, those that ended last included
	Notes      []string   `json:"notes,omitempty"`
	Exposed    []string   `json:"exposed,omitempty"` // shown for the command, read-only, though no policy grants it
}

// Detached is a command without a client: the one that a session was created with, or
// one started with detach. Its output is kept.
type Detached struct {
	Name    string `json:"name"` // by which logs and attach find it
	Argv0   string `json:"argv0"`
	TTY     bool   `json:"tty"`
	Running bool   `json:"running"`
	Exit    *Exit  `json:"exit,omitempty"` // once it has ended
}

// States of a jail.
const (
	StateUp       = "up"
	StateDegraded = "degraded" // without a network, for good
)

// Signal is the body of POST /v1/jails/{id}/signal.
type Signal struct {
	Signal int `json:"signal"`
}

// Cache is what tools in the jails of one policy and workspace keep: GET /v1/caches
// and /v1/caches/{id}.
type Cache struct {
	ID        string    `json:"id"`
	UID       uint32    `json:"uid"` // of the jails
	Policy    string    `json:"policy"`
	Workspace string    `json:"workspace"`
	Size      int64     `json:"size"` // bytes, when it was last measured
	Used      time.Time `json:"used"` // when a command with it last began or ended
	InUse     bool      `json:"in_use"`
}

// CachesRemoved answers DELETE /v1/caches: the IDs of those that were removed, and
// of those that were not, because a jail has them.
type CachesRemoved struct {
	Removed []string `json:"removed"`
	InUse   []string `json:"in_use"`
}

// Policy is one policy by name: GET /v1/policies and /v1/policies/{name}. The
// names of variables tell a client what to send; values and sources stay home.
type Policy struct {
	Name        string   `json:"name"`
	Origin      string   `json:"origin"`
	Description string   `json:"description,omitempty"`
	Passthrough []string `json:"env_passthrough,omitempty"`
	SecretEnv   []string `json:"secret_env,omitempty"` // variables its env sources name
	CommandEnv  []string `json:"command_env,omitempty"`
	Text        string   `json:"text,omitempty"` // in words, weakenings first
}

// PolicyCheck is the body of POST /v1/policies:check.
type PolicyCheck struct {
	Policy json.RawMessage `json:"policy"`
}

// PolicyTest is the body of POST /v1/policies:test; TestResult answers it.
type PolicyTest struct {
	Policy json.RawMessage `json:"policy"`
	Method string          `json:"method"`
	URL    string          `json:"url"`
}

// TestResult says what would happen to a request and why.
type TestResult struct {
	Allowed    bool   `json:"allowed"`
	Credential string `json:"credential,omitempty"` // the one that would be attached
	Text       string `json:"text"`
}

// Drain is the body of POST /v1/drain. Timeout is a Go duration; empty waits
// without end.
type Drain struct {
	Timeout string `json:"timeout,omitempty"`
}
