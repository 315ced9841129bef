package policy

import (
	"fmt"

	"github.com/omnijail/omnijail/internal/jail"
)

// maxCount is the most that a limits key may count.
const maxCount = 1 << 22

// limits reads the limits of the command.
func (d *decoder) limits(key string, n *node) {
	l := &d.doc.Limits
	d.mapping(key, n, map[string]keyFunc{
		"timeout":    func(d *decoder, k string, n *node) { l.Timeout = d.duration(k, n) },
		"memory":     func(d *decoder, k string, n *node) { l.Memory = d.size(k, n, jail.Least.Memory) },
		"swap":       func(d *decoder, k string, n *node) { l.Swap = d.size(k, n, 1); d.doc.SwapAt = n.at },
		"pids":       func(d *decoder, k string, n *node) { l.Pids = d.integer(k, n, jail.Least.Pids, maxCount) },
		"cpu":        func(d *decoder, k string, n *node) { l.CPU = d.processors(k, n) },
		"open_files": func(d *decoder, k string, n *node) { l.OpenFiles = d.integer(k, n, jail.Least.OpenFiles, maxCount) },
		"file_size":  func(d *decoder, k string, n *node) { l.FileSize = d.size(k, n, 0) },
		"scratch":    func(d *decoder, k string, n *node) { l.Scratch = d.size(k, n, jail.Least.Scratch) },
		"cache":      func(d *decoder, k string, n *node) { l.Cache = d.size(k, n, jail.Least.Cache) },
	}, nil)
}

// size reads a number of bytes of at least low.
func (d *decoder) size(key string, n *node, low int64) int64 {
	if n.kind != scalar {
		d.errorf(n.at, key, "must be a size, not %v", n.kind)
		return 0
	}
	v, err := jail.ParseSize(n.text)
	switch {
	case err != nil || v > 1<<50:
		d.errorf(n.at, key, "%.64q is not a size: write 512KiB, 64MiB or 1GiB", n.text)
	case v == 0 || v < low:
		d.errorf(n.at, key, "must be at least %s", jail.FormatSize(max(low, 1)))
	default:
		return v
	}
	return 0
}

func (d *decoder) processors(key string, n *node) int64 {
	if n.kind != scalar {
		d.errorf(n.at, key, "must be a number of processors, not %v", n.kind)
		return 0
	}
	v, err := jail.ParseCPU(n.text)
	if err != nil {
		d.errorf(n.at, key, "%v", err)
	}
	return v
}

// LimitLines says in words what limits hold, one a line.
func LimitLines(l jail.Limits) []string {
	var out []string
	if l.Timeout > 0 {
		out = append(out, "timeout "+l.Timeout.String())
	}
	for _, b := range []struct {
		name string
		v    int64
	}{{"memory", l.Memory}, {"swap", l.Swap}, {"file_size", l.FileSize}, {"scratch", l.Scratch}, {"cache", l.Cache}} {
		if b.v > 0 {
			out = append(out, b.name+" "+jail.FormatSize(b.v))
		}
	}
	for _, c := range []struct {
		name string
		v    int64
	}{{"pids", l.Pids}, {"open_files", l.OpenFiles}} {
		if c.v > 0 {
			out = append(out, fmt.Sprintf("%s %d", c.name, c.v))
		}
	}
	if l.CPU > 0 {
		out = append(out, fmt.Sprintf("cpu %g", float64(l.CPU)/1000))
	}
	return out
}
