package child

import "path"

// WallMode says what Landlock holds a command to, behind the mounts.
type WallMode uint8

// The modes.
const (
	WallScopes WallMode = iota // signals and abstract sockets alone, for a command that mounts
	WallFiles                  // files too, where the kernel can
	WallNeeded                 // files too, or the command does not start
	WallNone                   // neither this wall nor a filter: the command is not isolated
)

// Rights say what the second wall lets a command do at a place. They add up with
// those of the places around it, and what the mounts and modes of the jail refuse
// they cannot give back.
type Rights uint8

// The rights.
const (
	PlaceList    Rights = 1 << iota // list directories
	PlaceRead                       // read files and list directories
	PlaceExecute                    // execute files
	PlaceUse                        // write into what exists, devices included
	PlaceChange                     // everything that changes a tree: write, make, move, remove

	allRights = PlaceList | PlaceRead | PlaceExecute | PlaceUse | PlaceChange
)

// Place is a file, or a directory with all below it, in the jail's own view.
type Place struct {
	Path   string // absolute
	File   bool   // not a directory
	Rights Rights
}

func (p Place) ok() bool {
	return path.IsAbs(p.Path) && !hasNUL([]byte(p.Path)) && p.Rights != 0 && p.Rights&^allRights == 0
}

// minPlace is an encoded Place without its path, in bytes.
const minPlace = 4 + 1 + 1

func putPlaces(b []byte, places []Place) []byte {
	b = put32(b, uint32(len(places)))
	for _, p := range places {
		b = putBytes(b, []byte(p.Path))
		b = putFlag(b, p.File)
		b = append(b, byte(p.Rights))
	}
	return b
}

func (r *launchReader) places() []Place {
	out := make([]Place, r.count(launchPlaces, minPlace))
	for i := range out {
		out[i] = Place{Path: string(r.bytes()), File: r.flag(), Rights: Rights(r.u8())}
	}
	return out
}
