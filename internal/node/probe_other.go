//go:build !linux

package node

import (
	"context"
	"errors"
)

const linuxOnly = "run omnijaild on Linux"

func root() Fact { return unknown(Root, errors.ErrUnsupported, linuxOnly) }

func bubblewrap(context.Context, string) []Fact {
	return []Fact{unknown(Bwrap, errors.ErrUnsupported, linuxOnly)}
}

func kernel() []Fact { return nil }

func cgroups() []Fact { return nil }

func surroundings() []Fact { return nil }
