package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Duration is a time.Duration written as Go writes it ("90s", "720h").
type Duration time.Duration

// UnmarshalYAML accepts a Go duration, or 0.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "0" {
		*d = 0
		return nil
	}
	v, err := time.ParseDuration(n.Value)
	if err != nil || v < 0 {
		return fmt.Errorf("line %d: %q is not a duration such as 90s or 720h", n.Line, n.Value)
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes, written with an optional KiB, MiB or GiB.
type Size int64

// UnmarshalYAML accepts digits with an optional binary unit.
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	v, err := ParseSize(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*s = Size(v)
	return nil
}

// ParseSize reads a number of bytes: "512", "64KiB", "100MiB", "1GiB".
func ParseSize(text string) (int64, error) {
	shift := 0
	digits := text
	for unit, s := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if d, ok := strings.CutSuffix(text, unit); ok {
			digits, shift = d, s
		}
	}
	v, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || v < 0 || v > (1<<62)>>shift {
		return 0, fmt.Errorf("%q is not a size such as 512, 64KiB or 1GiB", text)
	}
	return v << shift, nil
}
