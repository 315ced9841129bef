package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// patch takes one rule out of one file.
type patch struct {
	title    string
	file     string
	old, new string
	run      []string // what the file is the source of is made by this command
	test     string   // a pattern of go test -run
	packages []string // where its tests are
}

// parse reads the patches. Each is a paragraph: a line of =, the title; file;
// lines with - as they are, lines with + as they are without the rule; run with a
// command that makes other files from this one; test with the pattern and the
// packages. Indentation counts as it stands in the file.
func parse(text string) ([]patch, error) {
	var all []patch
	for i, line := range strings.Split(text, "\n") {
		bad := func(what string) error { return fmt.Errorf("rules.txt:%d: %s", i+1, what) }
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if title, ok := strings.CutPrefix(line, "= "); ok {
			all = append(all, patch{title: title})
			continue
		}
		if len(all) == 0 {
			return nil, bad("no title yet")
		}
		p := &all[len(all)-1]
		switch {
		case line[0] == '-':
			p.old += line[1:] + "\n"
		case line[0] == '+':
			p.new += line[1:] + "\n"
		case strings.HasPrefix(line, "file "):
			p.file = line[len("file "):]
		case strings.HasPrefix(line, "run "):
			p.run = strings.Fields(line)[1:]
		case strings.HasPrefix(line, "test "):
			words := strings.Fields(line)
			p.test, p.packages = words[1], words[2:]
		default:
			return nil, bad("neither =, file, -, +, run nor test")
		}
	}
	return all, nil
}

// apply returns the text of p's file without the rule. It must have the lines
// exactly once.
func (p patch) apply(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, p.file))
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.title, err)
	}
	if n := strings.Count(string(b), p.old); p.old == "" || n != 1 {
		return "", fmt.Errorf("%s: its lines stand %d times in %s, not once", p.title, n, p.file)
	}
	if len(p.packages) == 0 {
		return "", fmt.Errorf("%s: no test is named", p.title)
	}
	return strings.Replace(string(b), p.old, p.new, 1), nil
}
