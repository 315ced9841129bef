package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// key is one key of the file.
type key struct {
	field, name string // in Go and in YAML
	typ         ast.Expr
	comment     string
}

// structure is one struct of the configuration.
type structure struct {
	comment string
	keys    []key
}

// sources is what the package says: its structs and its defaults.
type sources struct {
	structs  map[string]structure
	defaults *ast.CompositeLit // what Default returns
}

// read parses the package in dir.
func read(dir string) (*sources, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &sources{structs: map[string]structure{}}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			s.declaration(d)
		}
	}
	if s.defaults == nil || len(s.structs["Config"].keys) == 0 {
		return nil, fmt.Errorf("%s: no Config or no Default found", dir)
	}
	return s, nil
}

func (s *sources) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if st, ok := t.Type.(*ast.StructType); ok {
				s.structs[t.Name.Name] = structure{sentence(d.Doc), keys(st)}
			}
		}
	case *ast.FuncDecl:
		if d.Name.Name != "Default" {
			return
		}
		ast.Inspect(d.Body, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && s.defaults == nil {
				s.defaults = lit
			}
			return s.defaults == nil
		})
	}
}

// keys returns the keys of a struct. A field without a tag belongs to a type that
// decodes itself, and has its own name in lower case.
func keys(st *ast.StructType) (out []key) {
	for _, f := range st.Fields.List {
		if len(f.Names) != 1 {
			continue
		}
		k := key{field: f.Names[0].Name, typ: f.Type, comment: sentence(f.Doc)}
		if k.comment == "" {
			k.comment = sentence(f.Comment)
		}
		k.name = strings.ToLower(k.field)
		if f.Tag != nil {
			if tag, err := strconv.Unquote(f.Tag.Value); err == nil {
				k.name, _, _ = strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
			}
		}
		if k.name != "" && k.name != "-" && unicode.IsUpper(rune(k.field[0])) {
			out = append(out, k)
		}
	}
	return out
}

// sentence is a comment as running text.
func sentence(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ")
}
