package child

// View is what the jail may see of the caller's files: patterns and names, no
// resolved path. A scout resolves it as the caller.
type View struct {
	Cwd       string   // absolute, as the caller named it
	CwdWrite  bool     // whether a grant makes cwd itself writable
	Grants    []Grant  // cwd included
	Masks     []Mask   // mask_paths, absolute
	Visible   []string // dot entries that stay visible at the top of a grant (globs on one name)
	Secret    []string // dot entries whose names say that they carry secrets, as links too (likewise)
	ReadOnly  []string // names that are never writable where they are visible, at any depth (globs on one name)
	HiddenMax int      // entries looked at per directory before the scan overflows
	Pins      []Pin    // files that must stay as they are, the policy in force first
	Protect   []Protect
	GitConfig bool // git's configuration files may be written
	ScanMax   int  // entries of a writable grant looked at for what to protect
	ScanDepth int  // directories below each other, likewise
	// ControlSockets lets a grant be a socket that commands a program outside.
	ControlSockets bool
	// HardLinks lets what is hidden or protected have other names in a grant.
	HardLinks bool
}

// Grant gives one file or directory of the caller to the jail, at its own path.
type Grant struct {
	Path    string // absolute, cleaned
	Write   bool
	Origin  string // which line granted it
	Missing bool   // a path that does not exist is left out instead of refused
	Socket  bool   // a Unix socket or a FIFO, and neither a file nor a directory
}

// Mask hides one path below a grant behind an empty file or directory of ours.
type Mask struct {
	Path   string
	Origin string
	Own    bool // decides over later jails: no grant beats it, and no jail may make it
}

// Protect names what is not writable in a writable grant: an absolute path, in
// which a component may be a glob and "**" stands for any number of them, or a
// glob on one name at any depth.
type Protect struct {
	Pattern string
	Origin  string
}

// Pin is a file that the jail may read where it is granted and never write.
type Pin struct {
	Path   string
	Origin string
}

// User is who the command runs as. It is never uid 0 or gid 0.
type User struct {
	UID, GID uint32
	Groups   []uint32 // supplementary, a subset of the caller's own
	Name     string
	Home     string // the caller's real home, outside
}
