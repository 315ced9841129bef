package caller

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// Clone makes a detached tree of what is at an O_PATH descriptor of the scout's.
type Clone func(f *os.File, write bool) (*os.File, error)

// Resolved is what lies below the grants.
type Resolved struct {
	// Names are O_PATH descriptors, per grant in the order of its Names; one is nil
	// where a masked name has gone meanwhile. Every one lies on the mount of its
	// layer's tree, or of its grant's where it has none.
	Names [][]*os.File
	// Layers are the trees of each grant's layers, in their order.
	Layers [][]*os.File
}

// Close closes all files. It may be called again.
func (r *Resolved) Close() {
	for _, lists := range []*[][]*os.File{&r.Names, &r.Layers} {
		for _, files := range *lists {
			seqpacket.CloseAll(files)
		}
		*lists = nil
	}
}

// Resolve lends the scout one staged tree per grant, in their order, has clone make
// those of the layers, and returns what the scout finds below them. The scout is
// killed then, unless a watch follows.
func (o *Opened) Resolve(ctx context.Context, trees []*os.File, clone Clone) (_ *Resolved, err error) {
	s := o.scout
	if !o.watch {
		defer s.dismiss() // Close waits for its death
	}
	defer s.until(ctx, OpenTime)()
	r := &Resolved{}
	defer func() {
		if err != nil {
			r.Close()
			err = fmt.Errorf("names below the grants: %w", contextError(ctx, err))
		}
	}()
	if err := s.conn.Send(child.ScoutNames{}, trees...); err != nil {
		return nil, err
	}
	if err := o.layers(r, clone); err != nil {
		return nil, err
	}
	var reply child.ScoutNamesReply
	files, err := s.conn.Recv(&reply)
	if err == nil && reply.Err != nil {
		err = bounded(reply.Err)
	}
	if err == nil {
		r.Names, err = o.sortNames(reply, files, trees, r.Layers)
	}
	if err != nil {
		seqpacket.CloseAll(files)
		return nil, err
	}
	return r, nil
}

// layers has the scout open the layers, where there are any, and answers with a
// tree of each.
func (o *Opened) layers(r *Resolved, clone Clone) error {
	count := 0
	for i := range o.Reply.Grants {
		layers, _ := o.Reply.Grants[i].Layers()
		count += len(layers)
	}
	r.Layers = make([][]*os.File, len(o.Reply.Grants))
	if count == 0 {
		return nil
	}
	var reply child.ScoutLayers
	files, err := o.scout.conn.Recv(&reply)
	if err != nil {
		return err
	}
	defer seqpacket.CloseAll(files)
	if reply.Err != nil {
		return bounded(reply.Err)
	}
	if len(files) != count {
		return fmt.Errorf("%d layers instead of %d: %w", len(files), count, errShape)
	}
	var all []*os.File
	for i := range o.Reply.Grants {
		g := &o.Reply.Grants[i]
		layers, _ := g.Layers()
		for at, l := range layers {
			f := files[len(all)]
			if err := checkPathFD(f, dirKind); err != nil {
				return fmt.Errorf("layer %.80q: %w", g.Names()[l.Name].Name, err)
			}
			tree, err := clone(f, g.Write && !layers[at].ReadOnly)
			if err != nil {
				return err
			}
			r.Layers[i], all = append(r.Layers[i], tree), append(all, tree)
		}
	}
	return o.scout.conn.Send(child.ScoutNames{}, all...)
}

// sortNames deals the descriptors out and looks at each.
func (o *Opened) sortNames(reply child.ScoutNamesReply, files, trees []*os.File, layers [][]*os.File) ([][]*os.File, error) {
	found := reply.Found
	out := make([][]*os.File, len(o.Reply.Grants))
	for i, g := range o.Reply.Grants {
		names := g.Names()
		_, in := g.Layers()
		mounts, err := newMounts(trees[i], layers[i])
		if err != nil {
			return nil, err
		}
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
			if err := checkBelow(mounts[in[j]+1], files[0], n); err != nil {
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

// newMounts returns the ids of the mounts of a grant's tree and of its layers'.
func newMounts(tree *os.File, layers []*os.File) (ids []uint64, err error) {
	for _, f := range append([]*os.File{tree}, layers...) {
		st, err := cachedStat(f)
		if err != nil {
			return nil, err
		}
		if st.Mask&unix.STATX_MNT_ID == 0 {
			return nil, errors.New("this kernel does not say which mount a file is on")
		}
		ids = append(ids, st.Mnt_id)
	}
	return ids, nil
}

func checkBelow(mount uint64, f *os.File, n jail.OpenName) error {
	kind := fileKind
	switch {
	case n.Dir:
		kind = dirKind
	case n.Link:
		kind = linkKind
	}
	if err := checkPathFD(f, kind); err != nil {
		return fmt.Errorf("%.80q: %w", n.Name, err)
	}
	got, err := cachedStat(f)
	if err != nil {
		return err
	}
	if got.Mnt_id != mount || got.Mask&unix.STATX_MNT_ID == 0 {
		return fmt.Errorf("%.80q lies on another mount: %w", n.Name, errShape)
	}
	return nil
}
