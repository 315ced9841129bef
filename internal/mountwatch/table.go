package mountwatch

import (
	"bytes"
	"errors"
	"strings"
)

var errTable = errors.New("the mount table is not in the form this build knows")

// parse calls see for each mount of a table: id, parent, device, root, point and
// more, parted by blanks. What it passes on is the kernel's own text.
func parse(table []byte, see func(id, point string)) error {
	for len(table) > 0 {
		line, rest, whole := bytes.Cut(table, []byte("\n"))
		fields := bytes.SplitN(line, []byte(" "), 6)
		if !whole || len(fields) != 6 || !number(fields[0]) || !bytes.HasPrefix(fields[4], []byte("/")) {
			return errTable
		}
		see(string(fields[0]), string(fields[4]))
		table = rest
	}
	return nil
}

func number(b []byte) bool {
	return len(b) > 0 && len(b) <= 20 && len(bytes.Trim(b, "0123456789")) == 0
}

// spelling is how the kernel writes a path in a table.
var spelling = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// noted returns the numbers of all mounts at the places, each with its place.
// A place without a mount is an error: the protection is not there.
func noted(table []byte, places []string) (map[string]string, error) {
	at := make(map[string]string, len(places))
	missing := make(map[string]bool, len(places))
	for _, p := range places {
		at[spelling.Replace(p)] = p
		missing[p] = true
	}
	ids := map[string]string{}
	err := parse(table, func(id, point string) {
		if place, ok := at[point]; ok {
			ids[id] = place
			delete(missing, place)
		}
	})
	if err != nil {
		return nil, err
	}
	for p := range missing {
		return nil, &LostError{Places: []string{p}}
	}
	return ids, nil
}

// lost returns the places of those noted mounts that the table does not have.
func lost(table []byte, ids map[string]string) ([]string, error) {
	here := make(map[string]bool, len(ids))
	if err := parse(table, func(id, _ string) { here[id] = true }); err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for id, place := range ids {
		if !here[id] {
			gone[place] = true
		}
	}
	return sorted(gone), nil
}
