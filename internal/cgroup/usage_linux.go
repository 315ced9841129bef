package cgroup

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Usage reads what the group has used. What a controller does not say is 0.
func (g *Group) Usage() Usage {
	return Usage{
		MemoryPeak: g.counter("memory", "memory.peak", "memory.max_usage_in_bytes", ""),
		OOMKills:   g.counter("memory", "memory.events", "memory.oom_control", "oom_kill"),
		PidsDenied: g.counter("pids", "pids.events", "pids.events", "max"),
	}
}

// counter reads a file that holds one number, or the number behind field.
func (g *Group) counter(controller, v2, v1, field string) int64 {
	file := filepath.Join(g.dirs[0], v2)
	if !g.instance.has(controller) {
		parent, ok := g.instance.v1[controller]
		if !ok {
			return 0
		}
		file = filepath.Join(parent, g.name, v1)
	}
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text := lines.Text()
		if field != "" {
			var ok bool
			if text, ok = strings.CutPrefix(text, field+" "); !ok {
				continue
			}
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}
