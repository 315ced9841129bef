package caller

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// Name is a name below a staged tree with its O_PATH descriptor there.
type Name struct {
	jail.OpenName
	File *os.File
}

// Names are what is bound or hidden below one staged tree, in mounting order.
type Names struct {
	Held     []Name // bound onto themselves as they are
	ReadOnly []Name // bound onto themselves, read-only
	Masked   []Name // hidden; one that has gone meanwhile is left out
}

// Close closes the descriptors.
func (n Names) Close() {
	for _, list := range [][]Name{n.Held, n.ReadOnly, n.Masked} {
		for _, e := range list {
			e.File.Close()
		}
	}
}

// Resolve lends the scout one staged tree per grant, in their order, and returns
// the names below each. Every descriptor lies on the mount of its tree. The scout
// is done then.
func (o *Opened) Resolve(ctx context.Context, trees []*os.File) ([]Names, error) {
	s := o.scout
	defer s.end()
	defer context.AfterFunc(ctx, func() { s.conn.SetDeadline(time.Unix(1, 0)) })()
	s.conn.SetDeadline(time.Now().Add(OpenTime))
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

func (s *scout) names(trees []*os.File) (reply jail.ScoutNamesReply, files []*os.File, err error) {
	if err := s.conn.Send(jail.ScoutNames{}, trees...); err != nil {
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
func (o *Opened) sortNames(reply jail.ScoutNamesReply, files, trees []*os.File) ([]Names, error) {
	found := reply.Found
	out := make([]Names, len(o.Reply.Grants))
	deal := func(tree *os.File, from []jail.OpenName, to *[]Name) error {
		for _, n := range from {
			if len(found) == 0 || found[0] && len(files) == 0 {
				return fmt.Errorf("too few: %w", errShape)
			}
			if there := found[0]; there {
				if err := checkBelow(tree, files[0], n); err != nil {
					return err
				}
				*to, files = append(*to, Name{n, files[0]}), files[1:]
			}
			found = found[1:]
		}
		return nil
	}
	for i, g := range o.Reply.Grants {
		if err := deal(trees[i], g.Held, &out[i].Held); err != nil {
			return nil, err
		}
		if err := deal(trees[i], g.ReadOnly, &out[i].ReadOnly); err != nil {
			return nil, err
		}
		if err := deal(trees[i], g.Masked, &out[i].Masked); err != nil {
			return nil, err
		}
		if len(out[i].Held) != len(g.Held) || len(out[i].ReadOnly) != len(g.ReadOnly) {
			return nil, fmt.Errorf("a protected name of %s is missing: %w", g.Path, errShape)
		}
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
