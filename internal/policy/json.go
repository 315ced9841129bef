package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readJSON reads one JSON object as strictly as a file is read: repeated keys,
// depth, size and bytes that are not UTF-8 are errors. origins gives the
// positions that the entries had in the files they come from.
func readJSON(text []byte, origins map[string]string, name string, rep *report) *node {
	at := Pos{File: name}
	switch {
	case len(text) > maxBytes:
		rep.errorf(at, "", "larger than %d KiB", maxBytes>>10)
		return nil
	case !utf8.Valid(text):
		rep.errorf(at, "", "not UTF-8")
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := jsonReader{d, origins}.node("", at, 0)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return n
		}
		err = errors.New("more than one value")
	}
	rep.errorf(at, "", "not a policy in JSON: %v", err)
	return nil
}

type jsonReader struct {
	dec     *json.Decoder
	origins map[string]string
}

func (r jsonReader) node(path string, at Pos, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	if o, ok := r.origins[path]; ok {
		at = parsePos(o)
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{at: at}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			n.kind = mapping
			return n, r.fields(n, path, depth)
		}
		n.kind = list
		for i := 0; r.dec.More(); i++ {
			item, err := r.node(path+"["+strconv.Itoa(i)+"]", at, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err = r.dec.Token()
	case string:
		n.text = v
	case bool:
		n.tag, n.text = tagBool, strconv.FormatBool(v)
	case json.Number:
		n.tag, n.text = tagFloat, v.String()
		if i, err := v.Int64(); err == nil {
			n.tag, n.text = tagInt, strconv.FormatInt(i, 10)
		}
	case nil:
		n.tag = tagNull
	}
	return n, err
}

func (r jsonReader) fields(n *node, path string, depth int) error {
	for r.dec.More() {
		tok, err := r.dec.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string) // the decoder refuses other keys
		switch {
		case len(n.fields) == maxKeys:
			return fmt.Errorf("more than %d keys", maxKeys)
		case !printable(name):
			return fmt.Errorf("key %.64q holds an invisible character", name)
		case n.get(name) != nil:
			return fmt.Errorf("key %.64q given twice", name)
		}
		v, err := r.node(child(path, name), n.at, depth+1)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, field{name, v.at, v})
	}
	_, err := r.dec.Token()
	return err
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// parsePos reads what Pos.String wrote. The file is opaque: it is shown, never
// opened.
func parsePos(s string) Pos {
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		if line, err := strconv.Atoi(s[i+1:]); err == nil && line > 0 {
			return Pos{File: s[:i], Line: line}
		}
	}
	return Pos{File: s}
}

// writeJSON appends n as JSON and records the position of each entry that has
// another one than its parent.
func writeJSON(b *bytes.Buffer, n *node, path, parent string, origins map[string]string) {
	if o := n.at.String(); o != parent {
		origins[path], parent = o, o
	}
	switch n.kind {
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item, path+"["+strconv.Itoa(i)+"]", parent, origins)
		}
		b.WriteByte(']')
	case mapping:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, f.name)
			b.WriteByte(':')
			writeJSON(b, f.value, child(path, f.name), parent, origins)
		}
		b.WriteByte('}')
	case scalar:
		writeScalar(b, n)
	}
}

func writeScalar(b *bytes.Buffer, n *node) {
	switch n.tag {
	case tagInt, tagBool:
		b.WriteString(n.text)
	case tagNull:
		b.WriteString("null")
	case tagFloat:
		// No key takes a float, but a document must survive until the decoder
		// says so; a YAML float such as .inf has no form in JSON.
		if json.Valid([]byte(n.text)) {
			b.WriteString(n.text)
			return
		}
		writeString(b, n.text)
	default:
		writeString(b, n.text)
	}
}

func writeString(b *bytes.Buffer, s string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic("omnijail: internal error: a string has no JSON form: " + err.Error())
	}
	b.Write(text)
}
