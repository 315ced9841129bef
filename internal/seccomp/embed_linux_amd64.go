package seccomp

import "embed"

// programs exists only for architectures with committed filters: without it the
// package does not compile, rather than run without a filter.
//
//go:embed bpf/amd64-*.bin bpf/amd64-calls.txt
var programs embed.FS
