// Without takes the rules of the threat model out of the code, one at a time, in
// a copy of the tree, and runs the tests of each: a rule whose tests still pass
// is held by nothing. The patches stand in rules.txt.
//
//	without [-check] [-only TEXT]
//
// With -check it only says which patches do not fit the code any more. The end
// is 0 when every patch fits and every removal was noticed by a test with the
// rule's name, which -check does not try.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "only look whether every patch still fits")
	only := flag.String("only", "", "only the patches whose title has this text")
	flag.Parse()
	if err := run(*check, *only); err != nil {
		fmt.Fprintln(os.Stderr, "without:", err)
		os.Exit(1)
	}
}

func run(check bool, only string) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	text, err := os.ReadFile("without/rules.txt")
	if err != nil {
		return err
	}
	patches, err := parse(string(text))
	if err != nil {
		return err
	}
	var unfit []error
	for _, p := range patches {
		_, err := p.apply(root)
		unfit = append(unfit, err)
	}
	if err := errors.Join(unfit...); err != nil {
		return err
	}
	if check {
		return nil
	}
	return try(root, patches, only)
}

func try(root string, patches []patch, only string) error {
	dir, err := os.MkdirTemp("", "without-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("cp", "-a", root+"/.", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the tree: %w: %s", err, out)
	}
	unnoticed := 0
	for _, p := range patches {
		if !strings.Contains(p.title, only) {
			continue
		}
		by, err := p.removal(dir)
		switch {
		case err != nil:
			unnoticed++
			fmt.Printf("CANNOT TRY   %s: %v\n", p.title, err)
		case by == "":
			unnoticed++
			fmt.Printf("NOT NOTICED  %s\n", p.title)
		default:
			fmt.Printf("noticed      %s: %s\n", p.title, by)
		}
	}
	if unnoticed > 0 {
		return fmt.Errorf("%d removals were not noticed", unnoticed)
	}
	return nil
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (Test\w+)`)
	hung   = regexp.MustCompile(`running tests:\n\s+(Test\w+)`)
)

// testTime is longer than tests wait for what does not come, so that they say so
// themselves.
const testTime = "240s"

// removal takes the rule out of the tree at dir, runs its tests and puts it
// back. It returns the tests that failed, or did not come to an end.
func (p patch) removal(dir string) (by string, err error) {
	file := filepath.Join(dir, p.file)
	before, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	after, err := p.apply(dir)
	if err != nil {
		return "", err
	}
	if err := p.write(dir, []byte(after)); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, p.write(dir, before)) }()
	if out, err := command(dir, "go", "build", "-o", os.DevNull, "./"+filepath.Dir(p.file)); err != nil {
		return "", fmt.Errorf("does not build: %s", out)
	}
	for _, pkg := range p.packages { // the cheap ones are named first
		// Vet is off: code without a rule may leave a name unused.
		out, _ := command(dir, "go", "test", "-vet=off", "-count=1", "-timeout", testTime, "-run", p.test, pkg) // its failure is what is looked for
		if by = noticed(out); by != "" {
			return by, nil
		}
	}
	return "", nil
}

// noticed names the tests that failed, or that were still running at the end of
// their time, in what go test said.
func noticed(out string) string {
	var names []string
	for re, how := range map[*regexp.Regexp]string{failed: "", hung: " (did not end)"} {
		for _, m := range re.FindAllStringSubmatch(out, -1) {
			names = append(names, m[1]+how)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func (p patch) write(dir string, text []byte) error {
	if err := os.WriteFile(filepath.Join(dir, p.file), text, 0o644); err != nil || p.run == nil {
		return err
	}
	if out, err := command(dir, p.run[0], p.run[1:]...); err != nil {
		return fmt.Errorf("%v: %w: %s", p.run, err, out)
	}
	return nil
}

func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=auto", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
