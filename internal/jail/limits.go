package jail

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits bound one command and everything it starts. Zero is no limit.
type Limits struct {
	Timeout   time.Duration
	Memory    int64 // bytes, swap included but for what Swap says
	Swap      int64 // bytes of swap besides Memory; zero is none
	Pids      int64 // processes and threads
	CPU       int64 // thousandths of a processor
	OpenFiles int64 // descriptors of one process
	FileSize  int64 // bytes of one file
	Scratch   int64 // bytes of the home and of /tmp, each
	Cache     int64 // bytes of the cache; zero is DefaultCache
}

// Least is what a limit must leave: our own processes and descriptors stand in
// the same jail before the command does. Zero is no bound.
var Least = Limits{Memory: 16 << 20, Pids: 16, OpenFiles: 16, Scratch: 1 << 20, Cache: 1 << 20}

// DefaultCache is what a cache may hold where nobody says, in bytes: it is on a disk
// that others need too.
const DefaultCache = 5 << 30

// Check says which limit is negative or leaves less than Least.
func (l Limits) Check() error {
	for _, v := range []struct {
		name       string
		has, least int64
		text       func(int64) string
	}{
		{"timeout", int64(l.Timeout), 0, decimal},
		{"memory", l.Memory, Least.Memory, FormatSize},
		{"swap", l.Swap, 0, FormatSize},
		{"pids", l.Pids, Least.Pids, decimal},
		{"cpu", l.CPU, 0, decimal},
		{"open_files", l.OpenFiles, Least.OpenFiles, decimal},
		{"file_size", l.FileSize, 0, FormatSize},
		{"scratch", l.Scratch, Least.Scratch, FormatSize},
		{"cache", l.Cache, Least.Cache, FormatSize},
	} {
		switch {
		case v.has < 0:
			return fmt.Errorf("%s: must not be negative", v.name)
		case v.has != 0 && v.has < v.least:
			return fmt.Errorf("%s: must be at least %s", v.name, v.text(v.least))
		}
	}
	return nil
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Narrow returns, for each limit, the smaller of those that are set.
func (l Limits) Narrow(o Limits) Limits {
	return Limits{
		Timeout:   time.Duration(smaller(int64(l.Timeout), int64(o.Timeout))),
		Memory:    smaller(l.Memory, o.Memory),
		Swap:      smaller(l.Swap, o.Swap),
		Pids:      smaller(l.Pids, o.Pids),
		CPU:       smaller(l.CPU, o.CPU),
		OpenFiles: smaller(l.OpenFiles, o.OpenFiles),
		FileSize:  smaller(l.FileSize, o.FileSize),
		Scratch:   smaller(l.Scratch, o.Scratch),
		Cache:     smaller(l.Cache, o.Cache),
	}
}

// Under returns l within the operator's limits. Who bounds memory and does not speak
// of swap has bounded both together, so then there is none.
func (l Limits) Under(ceiling Limits) Limits {
	out := l.Narrow(ceiling)
	if ceiling.Memory > 0 && ceiling.Swap == 0 {
		out.Swap = 0
	}
	return out
}

func smaller(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// sizeUnits are the endings of a size. A plain letter means the binary unit, as
// in the tools that people have at their fingertips.
var sizeUnits = []struct {
	ending string
	shift  int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"k", 10}, {"m", 20}, {"g", 30}, {"K", 10}, {"M", 20}, {"G", 30}}

// ParseSize reads a number of bytes: "512", "64KiB", "100MiB", "1g".
func ParseSize(text string) (int64, error) {
	digits, shift := text, 0
	for _, u := range sizeUnits {
		if d, ok := strings.CutSuffix(text, u.ending); ok {
			digits, shift = strings.TrimSuffix(d, " "), u.shift
			break
		}
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v < 0 || v > (1<<62)>>shift {
		return 0, fmt.Errorf("%.32q is not a size such as 512, 64KiB or 1GiB", text)
	}
	return v << shift, nil
}

// FormatSize writes a number of bytes for people: "512 MiB", rounded down.
func FormatSize(n int64) string {
	for i := len(binaryUnits) - 1; i > 0; i-- {
		if v := n >> (10 * i); v > 0 {
			return fmt.Sprintf("%d %s", v, binaryUnits[i])
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

var binaryUnits = []string{"bytes", "KiB", "MiB", "GiB", "TiB"}

// ParseCPU reads a number of processors, such as "2" or "0.5", as thousandths.
func ParseCPU(text string) (int64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0.01 && f <= 4096) {
		return 0, fmt.Errorf("%.32q is not a number of processors such as 2 or 0.5", text)
	}
	return int64(f * 1000), nil
}
