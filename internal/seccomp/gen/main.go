//go:build linux && cgo

// Command gen writes the seccomp filters that package seccomp embeds: one file
// of classic BPF per architecture and filter, in ../bpf. It is the only user of
// libseccomp, so that nothing that is shipped needs cgo.
//
// The tables are read in this order: denied.go (what no jail may call),
// jail.go (what a weakening gives back and what the outer filter leaves to
// omnijail-init), observe.go (what is reported of a jail that is observed), egress.go (the allow-list of the egress process), scout.go (a
// scout that opens files), ceiling.go (system calls that nobody has reviewed).
//
// Run it with "go generate ./internal/seccomp"; a test compares its output with
// the committed files.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(64)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for name, program := range files {
		if err := os.WriteFile(filepath.Join(dir, name), program, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns every filter by its file name, "amd64-default.bin", and per
// machine the table of the calls that an observed jail has reported.
func generate() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, m := range machines {
		for _, f := range append(jailFilters(), egressFilter(), noUnixSockets(), scoutFilter(), observerFilter(), notifyFilter()) {
			if f.compat && m.compat == nil {
				continue
			}
			program, err := m.compile(f)
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", f.name, m.name, err)
			}
			files[m.name+"-"+f.name+".bin"] = program
		}
		table, err := callTable(m)
		if err != nil {
			return nil, fmt.Errorf("calls of %s: %w", m.name, err)
		}
		files[m.name+"-calls.txt"] = table
	}
	return files, nil
}
