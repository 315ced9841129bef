package caller

import (
	"context"
	"fmt"
	"os"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// RestoreOptions of FindAgain.
type RestoreOptions struct {
	Child
	Scout   *Scout // in Group, serves this alone; stays the caller's to close. nil starts one
	User    jail.User
	Root    *os.File // O_PATH of the jail's root; stays the caller's
	Request child.RestoreRequest
}

// FindAgain has a scout open what is at places of a jail that stands still. A file is
// nil where nothing is there, or nothing of the kind. The caller closes them.
func FindAgain(ctx context.Context, o RestoreOptions) ([]*os.File, error) {
	as, err := o.as(o.User)
	if err != nil {
		return nil, err
	}
	s, err := (&Options{Child: o.Child, Scout: o.Scout}).scout(as.UID)
	if err != nil {
		return nil, err
	}
	defer s.dismiss()
	defer s.until(ctx, OpenTime)()
	var reply child.RestoreReply
	var files []*os.File
	err = s.conn.Send(child.ScoutAsk{As: as, Restore: &o.Request}, o.Root)
	if err == nil {
		files, err = s.conn.Recv(&reply)
	}
	if err == nil && reply.Err != nil {
		err = bounded(reply.Err)
	}
	var found []*os.File
	if err == nil {
		found, err = dealPlaces(reply.Found, o.Request.Dirs, files)
	}
	if err != nil {
		seqpacket.CloseAll(files)
		return nil, fmt.Errorf("find again as uid %d: %w", as.UID, contextError(ctx, err))
	}
	return found, nil
}

// dealPlaces gives each place its descriptor and looks at it.
func dealPlaces(there, dirs []bool, files []*os.File) (found []*os.File, err error) {
	if len(there) != len(dirs) {
		return nil, errShape
	}
	for i, ok := range there {
		if !ok {
			found = append(found, nil)
			continue
		}
		if len(files) == 0 {
			return nil, errShape
		}
		want := fileKind
		if dirs[i] {
			want = dirKind
		}
		if err := checkPathFD(files[0], want); err != nil {
			return nil, err
		}
		found, files = append(found, files[0]), files[1:]
	}
	if len(files) > 0 {
		return nil, errShape
	}
	return found, nil
}
