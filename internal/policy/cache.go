package policy

import "github.com/omnijail/omnijail/internal/jail"

// The values of cache.
const (
	cachePrivate = "private"
	cacheNone    = "none"
)

// cache returns which cache the jail has. Its workspace is the widest writable
// grant around the working directory, so that what a command can write and the
// cache that it can fill belong together; its policy is what is in force, with all
// that the request added.
func (v *view) cache(files jail.View) jail.Cache {
	atHome := files.Cwd == v.home
	if v.doc.Cache == cacheNone || v.doc.Cache == "" && (atHome || !files.CwdWrite) {
		return jail.Cache{}
	}
	out := jail.Cache{Workspace: files.Cwd, Policy: v.doc.Ref.Digest}
	if v.doc.tree != nil {
		out.Policy = digest(v.doc.tree)
	}
	for _, g := range files.Grants {
		if g.Write && jail.Within(g.Path, out.Workspace) {
			out.Workspace = g.Path
		}
	}
	return out
}
