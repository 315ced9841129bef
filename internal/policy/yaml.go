package policy

import (
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Ceilings of one document, for files and for the wire alike.
const (
	maxBytes = 256 << 10
	maxDepth = 16
	maxItems = 2000 // of one list, rules among them
	maxKeys  = 1000 // of one mapping: looking for a repeated one is quadratic
)

// readYAML reads one YAML document. It refuses what would let a line mean
// something that is not written there: anchors, aliases, merge keys, tags,
// repeated keys and a second document.
func readYAML(file string, text []byte, rep *report) *node {
	if len(text) > maxBytes {
		rep.errorf(Pos{File: file}, "", "larger than %d KiB", maxBytes>>10)
		return nil
	}
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil {
		return yamlError(file, text, err, rep)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		rep.errorf(Pos{File: file}, "", "not one YAML document")
		return nil
	}
	before := len(rep.errs)
	n := yamlReader{file, rep}.node(doc.Content[0], 0)
	if len(rep.errs) > before {
		return nil
	}
	return n
}

// yamlError reports what the YAML parser said. An empty file is an empty
// document, which grants nothing.
func yamlError(file string, text []byte, err error, rep *report) *node {
	at := Pos{File: file}
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		rep.errorf(at, "", "not YAML: %v", err)
		return nil
	}
	msg := strings.TrimPrefix(le.Message, "yaml: ")
	switch {
	case strings.Contains(msg, "no documents"):
		return &node{kind: mapping, at: at}
	case strings.Contains(msg, "multiple"):
		msg = "a policy file holds one document"
	}
	at.Line, at.Col = le.Mark.Line, le.Mark.Column
	e := Error{Pos: at, Msg: msg}
	if line := lineOf(text, at.Line); strings.HasPrefix(strings.TrimLeft(line, " -"), "*") {
		e.Fix = `a rule that begins with * must be quoted: - "* api.example.com/**"`
	}
	rep.add(e)
	return nil
}

func lineOf(text []byte, n int) string {
	lines := strings.Split(string(text), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

type yamlReader struct {
	file string
	rep  *report
}

func (r yamlReader) node(y *yaml.Node, depth int) *node {
	n := &node{at: Pos{r.file, y.Line, y.Column}}
	switch {
	case depth > maxDepth:
		r.rep.errorf(n.at, "", "nested deeper than %d", maxDepth)
	case y.Kind == yaml.AliasNode:
		r.rep.add(Error{Pos: n.at, Msg: "aliases are not allowed", Fix: "write the value out; a rule that begins with * must be quoted"})
	case y.Anchor != "":
		r.rep.errorf(n.at, "", "anchors are not allowed: write the value where it is used")
	case y.Style&yaml.TaggedStyle != 0:
		r.rep.add(Error{Pos: n.at, Msg: "tags are not allowed", Fix: `a rule that begins with ! must be quoted: - "!DELETE api.example.com/**"`})
	case y.Kind == yaml.SequenceNode:
		n.kind = list
		for _, c := range y.Content {
			n.items = append(n.items, r.node(c, depth+1))
		}
	case y.Kind == yaml.MappingNode:
		n.kind = mapping
		r.mapping(n, y, depth)
	case y.Kind == yaml.ScalarNode:
		r.scalar(n, y)
	default:
		r.rep.errorf(n.at, "", "not a value")
	}
	return n
}

func (r yamlReader) mapping(n *node, y *yaml.Node, depth int) {
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		at := Pos{r.file, k.Line, k.Column}
		switch {
		case i/2 == maxKeys:
			r.rep.errorf(at, "", "more than %d keys", maxKeys)
			return
		case k.ShortTag() == "!!merge":
			r.rep.errorf(at, "", "merge keys are not allowed: use extends")
		case k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 || !printable(k.Value):
			r.rep.errorf(at, "", "a key must be a plain word")
		case n.get(k.Value) != nil:
			r.rep.errorf(at, k.Value, "given twice")
		default:
			n.fields = append(n.fields, field{k.Value, at, r.node(y.Content[i+1], depth+1)})
		}
	}
}

func (r yamlReader) scalar(n *node, y *yaml.Node) {
	n.text = y.Value
	switch y.ShortTag() {
	case "!!null":
		n.tag, n.text = tagNull, ""
	case "!!bool":
		n.tag, n.text = tagBool, strings.ToLower(y.Value)
	case "!!int":
		n.tag = tagInt
		i, err := strconv.ParseInt(y.Value, 0, 64)
		if err != nil {
			r.rep.errorf(n.at, "", "not an integer that fits: %.40s", y.Value)
			return
		}
		n.text = strconv.FormatInt(i, 10)
	case "!!float":
		n.tag = tagFloat
	}
}
