package child

import (
	"encoding/json"
	"unicode/utf8"
)

// OpenName is a name below a grant. A file system gives it any bytes.
type OpenName struct {
	Name string
	Dir  bool
	Link bool // a symbolic link, itself; read-only ones alone may be
}

// Names are names below a grant, of any bytes.
type Names []string

// name is one of them in JSON, which has no strings but those of UTF-8: one that
// came back as another would protect another file. Others are {"raw": base64}.
type name string

type rawName struct {
	Raw []byte `json:"raw"`
}

// MarshalJSON implements json.Marshaler.
func (n name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(rawName{[]byte(n)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *name) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*n = name(text)
		return nil
	}
	var raw rawName
	err := json.Unmarshal(b, &raw)
	*n = name(raw.Raw)
	return err
}

type wireName struct {
	Name name `json:"name"`
	Dir  bool `json:"dir"`
	Link bool `json:"link,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (n OpenName) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireName{name(n.Name), n.Dir, n.Link})
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *OpenName) UnmarshalJSON(b []byte) error {
	var w wireName
	err := json.Unmarshal(b, &w)
	*n = OpenName{string(w.Name), w.Dir, w.Link}
	return err
}

// MarshalJSON implements json.Marshaler.
func (n Names) MarshalJSON() ([]byte, error) {
	out := make([]name, len(n))
	for i, s := range n {
		out[i] = name(s)
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Names) UnmarshalJSON(b []byte) error {
	var in []name
	err := json.Unmarshal(b, &in)
	*n = make(Names, len(in))
	for i, s := range in {
		(*n)[i] = string(s)
	}
	return err
}
