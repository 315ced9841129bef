package mountwatch

import (
	"bytes"
	"errors"
	"strings"
)

var errTable = errors.New("the mount table is not in the form this build knows")

// parse calls see for each mount of a table: id, parent, device, root, point and
// more, parted by blanks. What it passes on is the kernel's own text, each id once.
func parse(table []byte, see func(id, parent, point string)) error {
	seen := map[string]bool{}
	for len(table) > 0 {
		line, rest, whole := bytes.Cut(table, []byte("\n"))
		fields := bytes.SplitN(line, []byte(" "), 6)
		if !whole || len(fields) != 6 || !number(fields[0]) || !number(fields[1]) || !bytes.HasPrefix(fields[4], []byte("/")) {
			return errTable
		}
		id := string(fields[0])
		if seen[id] {
			return errTable
		}
		seen[id] = true
		see(id, string(fields[1]), string(fields[4]))
		table = rest
	}
	return nil
}

func number(b []byte) bool {
	return len(b) > 0 && len(b) <= 20 && len(bytes.Trim(b, "0123456789")) == 0
}

// spelling is how the kernel writes a path in a table.
var spelling = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// mount is one that has to stay.
type mount struct{ place, parent string }

// noted returns all mounts at the places, by the kernel's number. Places without a
// mount are a *LostError beside it: the protection is not there.
func noted(table []byte, places []string) (map[string]mount, error) {
	at := make(map[string]string, len(places))
	missing := make(map[string]bool, len(places))
	for _, p := range places {
		at[spelling.Replace(p)] = p
		missing[p] = true
	}
	ids := map[string]mount{}
	err := parse(table, func(id, parent, point string) {
		if place, ok := at[point]; ok {
			ids[id] = mount{place, parent}
			delete(missing, place)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return ids, &LostError{Places: sorted(missing)}
	}
	return ids, nil
}

// lost returns the places of those noted mounts that the table does not have there.
// A directory that is renamed outside takes its mounts along, and what comes to its
// place has none.
func lost(table []byte, ids map[string]mount) ([]string, error) {
	here := make(map[string]string, len(ids))
	if err := parse(table, func(id, _, point string) { here[id] = point }); err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for id, m := range ids {
		if here[id] != spelling.Replace(m.place) {
			gone[m.place] = true
		}
	}
	return sorted(gone), nil
}
