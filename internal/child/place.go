package child

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
	return len(p.Path) > 0 && p.Path[0] == '/' && !hasNUL([]byte(p.Path)) && p.Rights != 0 && p.Rights&^allRights == 0
}
