package stage

import "os"

// Protections returns the places in the jail on which a step of the plan mounts
// something inside a tree of the caller's: what is held, protected, hidden or a
// grant inside another. Such a mount goes when somebody outside replaces what it
// stands on. names are those that Apply gets.
func (p Plan) Protections(names [][]*os.File) (places []string) {
	for _, s := range p.Steps {
		switch s.Op {
		case OpHold, OpPin, OpNest, OpFrame:
			places = append(places, s.Path)
		case OpHide:
			if names[s.Grant][s.Name] != nil {
				places = append(places, s.Path)
			}
		}
	}
	return places
}
