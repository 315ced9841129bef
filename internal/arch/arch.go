// Package arch reads the sources and says where they break the shape of the
// house: which package may import which, and which one package may touch a
// dangerous thing. It parses files, so the answer never comes from a build cache.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

const module = "github.com/omnijail/omnijail/"

// Rules is the table.
type Rules struct {
	// Imports maps a folder to the folders of ours that its files, tests
	// excepted, may import. A trailing /... means the tree. Folders that are not
	// listed may import nothing of ours.
	Imports map[string][]string
	// Sole maps an import path, or a selector such as unix.Setns, to the folders
	// that alone may use it, in tests too.
	Sole map[string][]string
	// Never are names that no code but a test's may use, of whatever they are.
	Never []string
}

// Check returns the violations in the tree below root, one a line, sorted.
func (r Rules) Check(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && p != root && (name == "testdata" || name[0] == '.' || name == "tools") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		found, err := r.file(p, filepath.ToSlash(rel))
		out = append(out, found...)
		return err
	})
	sort.Strings(out)
	return out, err
}

func (r Rules) file(name, rel string) (out []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	dir := path.Dir(rel)
	test := strings.HasSuffix(rel, "_test.go")
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if ours, ok := strings.CutPrefix(p, module); ok && !test && ours != dir && !allowed(r.Imports[owner(r.Imports, dir)], ours) {
			out = append(out, fmt.Sprintf("%s imports %s", rel, ours))
		}
		for sole, dirs := range r.Sole {
			if (p == sole || strings.HasPrefix(p, sole+"/")) && !allowed(dirs, dir) {
				out = append(out, fmt.Sprintf("%s imports %s, which is for %s alone", rel, p, strings.Join(dirs, ", ")))
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !test && slices.Contains(r.Never, id.Name) {
			out = append(out, fmt.Sprintf("%s uses %s, which nothing may", rel, id.Name))
		}
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				use := x.Name + "." + sel.Sel.Name
				if dirs, ok := r.Sole[use]; ok && !allowed(dirs, dir) && !test {
					out = append(out, fmt.Sprintf("%s uses %s, which is for %s alone", rel, use, strings.Join(dirs, ", ")))
				}
			}
		}
		return true
	})
	return out, nil
}

// owner is the longest listed folder that dir is or lies in.
func owner(table map[string][]string, dir string) string {
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := table[d]; ok {
			return d
		}
	}
	return dir
}

func allowed(list []string, dir string) bool {
	for _, a := range list {
		if tree, ok := strings.CutSuffix(a, "/..."); ok {
			if dir == tree || strings.HasPrefix(dir, tree+"/") {
				return true
			}
		} else if a == dir {
			return true
		}
	}
	return false
}
