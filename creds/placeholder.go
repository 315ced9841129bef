package creds

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
)

// marker is what every placeholder holds, whatever its shape, so that one is
// found without knowing it.
const marker = "oa_cred_"

const randomBytes = 32

// shapes are prefixes that clients check before they use a token.
var shapes = map[string]string{
	"":          "",
	"github":    "github_pat_",
	"gitlab":    "glpat-",
	"openai":    "sk-proj-",
	"anthropic": "sk-ant-api03-",
}

func knownShapes() string {
	return fmt.Sprintf("known are %s", strings.Join(slices.Sorted(maps.Keys(shapes))[1:], ", "))
}

// mint returns a new placeholder. Its digits are hexadecimal, so that it passes
// wherever a token of its shape does; the checksum lets a person tell a cut one.
func mint(shape string) string {
	var b [randomBytes]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return shapes[shape] + marker + hex.EncodeToString(b[:]) + fmt.Sprintf("%08x", crc32.ChecksumIEEE(b[:]))
}
