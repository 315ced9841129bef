package caches

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Dirs are the directories of a tree, by their names in a home.
var Dirs = []string{
	".cache", ".npm", ".m2/repository", ".gradle/caches", ".cargo/registry", ".cargo/git",
	"go/pkg", ".nuget/packages", ".ivy2", ".pub-cache",
}

// fileName is the name of one of Dirs on the disk.
func fileName(dir string) string { return strings.ReplaceAll(dir, "/", "+") }

// Key says whose a tree is and what for. What was written under one key is never
// seen under another: a policy that allows more could have put there what one that
// allows less relies on.
type Key struct {
	Owner       uint32 // who asked for the jail, and may see and remove the tree
	UID, GID    uint32 // who the jail runs as
	Policy      string // its digest
	PolicyOwner uint32
	Workspace   string // absolute path
}

// ID names the tree of the key. It is the same for ever.
func (k Key) ID() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %d %q %q", k.Owner, k.UID, k.PolicyOwner, k.Policy, k.Workspace)
	return hex.EncodeToString(h.Sum(nil)[:idBytes])
}

const idBytes = 12

var validID = regexp.MustCompile(fmt.Sprintf("^[0-9a-f]{%d}$", 2*idBytes))

// ValidID reports whether s could be the ID of a tree. Nothing else is ever made
// part of a path.
func ValidID(s string) bool { return validID.MatchString(s) }
