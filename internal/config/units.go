package config

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/omnijail/omnijail/internal/jail"
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
	v, err := jail.ParseSize(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*s = Size(v)
	return nil
}

// CPU is a number of processors, in thousandths.
type CPU int64

// UnmarshalYAML accepts a number such as 2 or 0.5.
func (c *CPU) UnmarshalYAML(n *yaml.Node) error {
	v, err := jail.ParseCPU(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*c = CPU(v)
	return nil
}
