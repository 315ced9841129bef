package caller

import (
	"context"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// Resolve lends the scout one staged tree per grant, in their order, and returns
// the O_PATH descriptors of the names below each, in the order Held, ReadOnly,
// Masked; one is nil where a masked name has gone meanwhile. Every descriptor lies
// on the mount of its tree. The scout is killed then.
func (o *Opened) Resolve(ctx context.Context, trees []*os.File) ([][]*os.File, error) {
	s := o.scout
	defer s.dismiss() // Close waits for its death
	defer s.until(ctx, OpenTime)()
	reply, files, err := s.names(trees)
	if err != nil {
		return nil, fmt.Errorf("names below the grants: %w", contextError(ctx, err))
	}
	names, err := o.sortNames(reply, files, trees)
	if err != nil {
		seqpacket.CloseAll(files)
		return nil, fmt.Errorf("names below the grants: %w", err)
	}
	return names, nil
}

func (s *process) names(trees []*os.File) (reply child.ScoutNamesReply, files []*os.File, err error) {
	if err := s.conn.Send(child.ScoutNames{}, trees...); err != nil {
		return reply, nil, err
	}
	files, err = s.conn.Recv(&reply)
	if err == nil && reply.Err != nil {
		seqpacket.CloseAll(files)
		return reply, nil, bounded(reply.Err)
	}
	return reply, files, err
}

// sortNames deals the descriptors out and looks at each.
func (o *Opened) sortNames(reply child.ScoutNamesReply, files, trees []*os.File) ([][]*os.File, error) {
	found := reply.Found
	out := make([][]*os.File, len(o.Reply.Grants))
	for i, g := range o.Reply.Grants {
		names := slices.Concat(g.Held, g.ReadOnly, g.Masked)
		if len(found) < len(names) {
			return nil, fmt.Errorf("too few: %w", errShape)
		}
		for j, n := range names {
			if !found[j] {
				if j < len(g.Held)+len(g.ReadOnly) {
					return nil, fmt.Errorf("%.80q is protected and missing: %w", n.Name, errShape)
				}
				out[i] = append(out[i], nil)
				continue
			}
			if len(files) == 0 {
				return nil, fmt.Errorf("too few: %w", errShape)
			}
			if err := checkBelow(trees[i], files[0], n); err != nil {
				return nil, err
			}
			out[i], files = append(out[i], files[0]), files[1:]
		}
		found = found[len(names):]
	}
	if len(found) != 0 || len(files) != 0 {
		return nil, fmt.Errorf("too many: %w", errShape)
	}
	return out, nil
}

func checkBelow(tree, f *os.File, n jail.OpenName) error {
	if err := checkPathFD(f, n.Dir); err != nil {
		return fmt.Errorf("%.80q: %w", n.Name, err)
	}
	want, err := cachedStat(tree)
	if err != nil {
		return err
	}
	got, err := cachedStat(f)
	if err != nil {
		return err
	}
	if got.Mnt_id != want.Mnt_id || got.Mask&want.Mask&unix.STATX_MNT_ID == 0 {
		return fmt.Errorf("%.80q lies on another mount: %w", n.Name, errShape)
	}
	return nil
}
