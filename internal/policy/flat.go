package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
)

// Flat is a self-contained document on its way to the daemon: what it extends is
// merged in, its paths are absolute or relative to the request's working
// directory, and each entry keeps the line that wrote it.
type Flat struct {
	Doc     json.RawMessage   `json:"doc"`
	Origins map[string]string `json:"origins,omitempty"` // "egress_rules[0]" -> "./.omnijail.yaml:4"
	Name    string            `json:"name,omitempty"`    // a named policy of the user's, else empty
	Path    string            `json:"path,omitempty"`    // absolute path of the file; empty for an inline document
	Files   []string          `json:"files,omitempty"`   // every file that was read, Path first
	Digest  string            `json:"digest,omitempty"`  // hex SHA-256 of Doc, for the trust store; a reader computes its own
}

// maxFiles bounds the files that one document may claim to come from.
const maxFiles = 64

// newFlat encodes a merged tree.
func newFlat(n *node, name string, files []string) *Flat {
	f := &Flat{Origins: map[string]string{}, Name: name, Files: files}
	var b bytes.Buffer
	writeJSON(&b, n, "", "", f.Origins)
	f.Doc, f.Digest = b.Bytes(), digest(n)
	if len(files) > 0 {
		f.Path = files[0]
	}
	return f
}

// digest names a document by what it says; where its lines stand is left out.
func digest(n *node) string {
	var b bytes.Buffer
	writeJSON(&b, n, "", "", map[string]string{})
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}

// DecodeFlat decodes a document that a client sent: a Flat, or the policy itself
// as an object. uid is the caller's. What it extends may be presets only, since
// nothing that a request names is opened. Errors are Errors.
func DecodeFlat(raw []byte, uid uint32) (*Document, error) {
	flat, err := splitFlat(raw)
	if err != nil {
		return nil, err
	}
	rep := &report{}
	n := readJSON(flat.Doc, flat.Origins, flat.origin(), rep)
	n = flatten(n, nil, rep)
	doc := finish(n, rep)
	doc.Files = flat.Files
	doc.Ref = jail.PolicyRef{Name: flat.Name, Origin: flat.origin(), OwnerUID: uid, Own: true}
	if doc.Ref.Name == "" {
		doc.Ref.Name = flat.origin()
	}
	if err := rep.err(); err != nil {
		return nil, err
	}
	doc.Ref.Digest = digest(n)
	return doc, nil
}

// splitFlat reads the envelope, or makes one around a bare document.
func splitFlat(raw []byte) (*Flat, error) {
	fail := func(msg string) (*Flat, error) {
		return nil, Errors{{Pos: Pos{File: "inline policy"}, Msg: msg}}
	}
	if len(raw) > 2*maxBytes {
		return fail("the policy and its positions are too large")
	}
	var probe map[string]json.RawMessage
	if err := json.Unmarshal(raw, &probe); err != nil || probe == nil {
		return fail("not a policy: it must be a JSON object")
	}
	if _, ok := probe["doc"]; !ok {
		return &Flat{Doc: raw}, nil
	}
	var f Flat
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return fail("not a flattened policy: " + err.Error())
	}
	switch {
	case f.Name != "" && !ValidName(f.Name):
		return fail("its name is not a name")
	case len(f.Files) > maxFiles:
		return fail("it comes from too many files")
	case slices.ContainsFunc(append(f.Files, f.Path), func(p string) bool { return p != "" && !cleanAbs(p) }):
		return fail("a file it comes from is not an absolute path")
	case f.Path != "" && !slices.Contains(f.Files, f.Path):
		f.Files = append([]string{f.Path}, f.Files...)
	}
	return &f, nil
}

func (f *Flat) origin() string {
	if f.Path == "" {
		return "inline"
	}
	return f.Path
}

// Document decodes a Flat that this process made itself.
func (f *Flat) Document() (*Document, error) {
	raw, err := json.Marshal(f)
	if err != nil {
		panic("omnijail: internal error: a flattened policy has no JSON form: " + err.Error())
	}
	return DecodeFlat(raw, 0)
}
