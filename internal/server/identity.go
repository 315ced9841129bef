package server

import (
	"fmt"
	"net/http"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// maxSystemUID is SYS_UID_MAX: the services of the node live below.
const maxSystemUID = 999

// overflowID is what a peer from an unmapped user namespace looks like.
const overflowID = 65534

// noHome is the home of a uid that the user database does not know.
const noHome = "/nonexistent"

// identity is who the command runs as: the caller, or for root whoever root
// names. It is never uid 0, gid 0, an overflow id, the egress user, or a system
// uid that access does not name.
func (s *Server) identity(name string, c *caller) (jail.User, *api.Error) {
	var u jail.User
	switch {
	case c.UID() == 0 && name == "":
		return u, api.Refuse(http.StatusBadRequest, "root_caller", "root must say as whom: a jail never runs as root").
			Hint("omnijailctl exec --user alice -- …")
	case c.UID() != 0 && name != "":
		return u, api.Refuse(http.StatusForbidden, "user", "--user is for root: your jails run as you")
	case c.UID() == 0:
		var refused *api.Error
		if u, refused = named(name); refused != nil {
			return u, refused
		}
	default:
		u = jail.User{UID: c.UID(), GID: c.GID(), Groups: c.Groups()}
		complete(&u)
	}
	egressUID, _ := s.cfg.Names.User(s.cfg.Settings().EgressUser)
	switch {
	case u.UID == 0 || u.GID == 0:
		return u, api.Refuse(http.StatusForbidden, "user", "a jail never runs as uid 0 or gid 0").Hint("omnijailctl exec --user alice -- …")
	case u.UID == overflowID || u.GID == overflowID:
		return u, api.Refuse(http.StatusForbidden, "user", "uid or gid %d is nobody's own", overflowID)
	case egressUID != 0 && u.UID == egressUID:
		return u, api.Refuse(http.StatusForbidden, "user", "the egress user never runs a jail")
	case u.UID <= maxSystemUID && c.UID() == 0:
		return u, api.Refuse(http.StatusForbidden, "user", "uid %d is a system user's, and a service's files are not a jail's to use", u.UID)
	case u.UID <= maxSystemUID && !slices.Contains(c.access.SystemUIDs, u.UID):
		return u, api.Refuse(http.StatusForbidden, "user", "uid %d is a system user's", u.UID).
			Hint("access entry of omnijaild.yaml: system_uids: [%d]", u.UID)
	}
	return u, nil
}

// named parses NAME, UID or UID:GID. An id needs no entry in the database.
func named(name string) (jail.User, *api.Error) {
	bad := func() (jail.User, *api.Error) {
		return jail.User{}, api.Refuse(http.StatusBadRequest, "user", "there is no user %.64q", name)
	}
	uidText, gidText, hasGID := strings.Cut(name, ":")
	uid, err := strconv.ParseUint(uidText, 10, 32)
	if err != nil {
		entry, err := user.Lookup(uidText)
		if err != nil || hasGID {
			return bad()
		}
		if uid, err = strconv.ParseUint(entry.Uid, 10, 32); err != nil {
			return bad()
		}
	}
	u := jail.User{UID: uint32(uid), GID: uint32(uid)}
	if hasGID {
		gid, err := strconv.ParseUint(gidText, 10, 32)
		if err != nil {
			return bad()
		}
		u.GID = uint32(gid)
	}
	entry, err := user.LookupId(fmt.Sprint(uid))
	if err == nil && !hasGID {
		if gid, err := strconv.ParseUint(entry.Gid, 10, 32); err == nil {
			u.GID = uint32(gid)
		}
		ids, _ := entry.GroupIds()
		for _, id := range ids {
			if g, err := strconv.ParseUint(id, 10, 32); err == nil && uint32(g) != u.GID {
				u.Groups = append(u.Groups, uint32(g))
			}
		}
	}
	complete(&u)
	return u, nil
}

// complete fills the name and home from the database, or makes some up: a uid
// without an entry is common in containers and CI.
func complete(u *jail.User) {
	u.Name, u.Home = fmt.Sprintf("u%d", u.UID), noHome
	if entry, err := user.LookupId(fmt.Sprint(u.UID)); err == nil {
		u.Name, u.Home = entry.Username, entry.HomeDir
	}
}

// groups are those of the connection, with names where there are some.
func (s *Server) groups(c *caller) (out []policy.Group) {
	for _, gid := range append([]uint32{c.GID()}, c.Groups()...) {
		g := policy.Group{GID: gid}
		if entry, err := user.LookupGroupId(fmt.Sprint(gid)); err == nil {
			g.Name = entry.Name
		}
		out = append(out, g)
	}
	return out
}
