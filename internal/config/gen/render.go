package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"regexp"
	"strings"
	"unicode"
)

const preface = `# omnijaild.yaml

<!-- Written by "go generate ./internal/config" from the comments of that package. -->

omnijaild reads ` + "`/etc/omnijail/omnijaild.yaml`" + `, or the file that ` + "`--config`" + ` names. A flag (` + "`--socket` `--run-dir` `--state-dir`" + `) beats the file, the file beats the default; without a file everything is at its default. The file, and each folder above it, must belong to root and be writable by root alone. An unknown key is an error, and so is a second document. ` + "`omnijaild check-config FILE`" + ` says what is wrong with a file.

A duration is written as in Go: ` + "`90s`, `15m`, `720h`" + `. A size is a number of bytes with an optional unit: ` + "`512`, `64KiB`, `100MiB`, `1GiB`" + `. A path is absolute.

` + "```yaml" + `
access:
  - {groups: [omnijail], policies: [own, "*"], sources: [env, file, command]}
  - {users: [ci], policies: [ci], sources: [systemd], system_uids: [998]}
upstream:
  ca_files: [/usr/local/share/ca-certificates/corp.crt]
  hosts:
    ghe.corp.example: 10.20.1.5:443
egress:
  private: [{host: "*.corp.example", cidr: 10.20.0.0/16}]
limits: {timeout: 2h}
` + "```" + `

Without ` + "`access`" + ` the first line of the example holds, with ` + "`publish: true`" + `, for the group that ` + "`group`" + ` names. Root may use every policy, source and weakening.
`

// render writes the reference of the package in dir.
func render(dir string) ([]byte, error) {
	src, err := read(dir)
	if err != nil {
		return nil, err
	}
	r := &renderer{src: src}
	r.out.WriteString(preface)
	r.section("Keys", "Config", src.defaults)
	if r.err != nil {
		return nil, r.err
	}
	return r.out.Bytes(), nil
}

type renderer struct {
	src *sources
	out bytes.Buffer
	err error
}

// section writes one struct as a table, then the structs that its keys hold.
func (r *renderer) section(title, name string, defaults *ast.CompositeLit) {
	st := r.src.structs[name]
	path := ""
	if name == "Config" {
		fmt.Fprintf(&r.out, "\n## %s\n\n", title)
	} else {
		path = title + "."
		fmt.Fprintf(&r.out, "\n## `%s`\n\n%s\n\n", title, r.prose(st.comment, key{field: name, name: title}))
	}
	r.out.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	for i, k := range st.keys {
		comment := k.comment
		if comment == "" && i > 0 {
			comment = "See the row above."
		}
		if comment == "" {
			r.err = fmt.Errorf("%s.%s has no comment", name, k.field)
		}
		fmt.Fprintf(&r.out, "| `%s` | %s | %s | %s |\n", k.name, r.typeText(k.typ), r.value(k, defaults), r.prose(lead(k, comment), st.keys...))
	}
	for _, k := range st.keys {
		inner, suffix := element(k.typ)
		if _, ok := r.src.structs[inner]; !ok {
			continue
		}
		nested, _ := lookup(defaults, k.field).(*ast.CompositeLit)
		r.section(path+k.name+suffix, inner, nested)
	}
}

// lead drops the "Name is" that Go wants at the beginning of a comment.
func lead(k key, comment string) string {
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(comment, k.field+verb); ok {
			comment = rest
		}
	}
	return strings.ToUpper(comment[:min(1, len(comment))]) + comment[min(1, len(comment)):]
}

// word is an identifier in a comment.
var word = regexp.MustCompile(`\b[A-Z]\w*`)

// prose turns a Go comment into a sentence of the reference.
func (r *renderer) prose(text string, known ...key) string {
	text = word.ReplaceAllStringFunc(text, func(w string) string {
		for _, k := range known {
			if w == k.field {
				return "`" + k.name + "`"
			}
		}
		return w
	})
	return strings.ReplaceAll(text, "|", "\\|")
}

// element returns the name of the type that a list, a map or a plain field holds,
// and how its place is written.
func element(t ast.Expr) (name, suffix string) {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name, ""
	case *ast.ArrayType:
		name, _ = element(t.Elt)
		return name, "[]"
	case *ast.MapType:
		name, _ = element(t.Value)
		return name, ".NAME"
	}
	return "", ""
}

// typeText names a type for a person. One that has no words is an error: the
// reference must not be silent about a key.
func (r *renderer) typeText(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.ArrayType:
		return "list of " + r.typeText(t.Elt)
	case *ast.MapType:
		return "mapping of names to " + r.typeText(t.Value)
	case *ast.Ident:
		if _, ok := r.src.structs[t.Name]; ok {
			return "mapping, below"
		}
		if text, ok := typeWords[t.Name]; ok {
			return text
		}
	case *ast.SelectorExpr:
		if text, ok := typeWords[t.Sel.Name]; ok {
			return text
		}
	}
	r.err = fmt.Errorf("type %T has no words in the reference", t)
	return ""
}

var typeWords = map[string]string{
	"string": "text", "bool": "true or false", "int": "number", "int64": "number", "uint32": "number",
	"Duration": "duration", "Size": "size", "CPU": "processors", "AddrPort": "IP:PORT", "Prefix": "network",
}

// lookup returns a field's value in a literal, nil if it is not there.
func lookup(lit *ast.CompositeLit, field string) ast.Expr {
	if lit == nil {
		return nil
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == field && unicode.IsUpper(rune(field[0])) {
				return kv.Value
			}
		}
	}
	return nil
}
