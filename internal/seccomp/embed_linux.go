package seccomp

import (
	"fmt"
	"runtime"
)

// load returns an embedded program.
func load(name string) (Filter, error) {
	program, err := programs.ReadFile("bpf/" + runtime.GOARCH + "-" + name + ".bin")
	if err != nil {
		return nil, fmt.Errorf("no seccomp filter %q for %s in this build", name, runtime.GOARCH)
	}
	return program, nil
}
