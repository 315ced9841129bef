package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// SystemDirs looks up the bind mounts of an OCI spec on this node: a directory
// stays one, a link (/lib on a merged /usr) becomes the same link. One that the
// node does not have is left out; any other kind of mount or option is refused.
func SystemDirs(mounts []specs.Mount) ([]System, error) {
	var out []System
	for _, m := range mounts {
		if m.Type != "bind" && m.Type != "" {
			return nil, fmt.Errorf("a mount of type %q at %s is not for this build", m.Type, m.Destination)
		}
		for _, o := range m.Options {
			if !slices.Contains([]string{"bind", "rbind", "ro", "nosuid", "nodev"}, o) {
				return nil, fmt.Errorf("mount option %q at %s is not for this build", o, m.Destination)
			}
		}
		info, err := os.Lstat(m.Source)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(m.Source)
			if err != nil {
				return nil, err
			}
			out = append(out, System{Path: m.Destination, Source: m.Source, Link: target})
		case info.IsDir():
			out = append(out, System{Path: m.Destination, Source: m.Source})
		default:
			return nil, fmt.Errorf("system directory %s is not a directory", m.Source)
		}
	}
	return out, nil
}

// ProcMasks returns those of paths that this kernel has.
func ProcMasks(paths []string) []ProcMask {
	var out []ProcMask
	for _, p := range paths {
		if info, err := os.Lstat(p); err == nil {
			out = append(out, ProcMask{Path: p, Dir: info.IsDir()})
		}
	}
	return out
}
