package mountwatch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var errTable = errors.New("the mount table is not in the form this build knows")

// row is one mount of a table, in the kernel's own text.
type row struct{ id, parent, device, root, point []byte }

// parse calls see for each mount of a table: id, parent, device, root, point and
// more, parted by blanks; each id once.
func parse(table []byte, see func(row)) error {
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
		see(row{fields[0], fields[1], fields[2], fields[3], fields[4]})
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
	err := parse(table, func(r row) {
		if place, ok := at[string(r.point)]; ok {
			ids[string(r.id)] = mount{place, string(r.parent)}
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
	if err := parse(table, func(r row) { here[string(r.id)] = string(r.point) }); err != nil {
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

// around returns those mounts of a table that lie at one of the places, below it, or
// where it lies itself.
func around(table []byte, places []string) (mounts []string, err error) {
	spelled := make([]string, len(places))
	for i, p := range places {
		spelled[i] = spelling.Replace(p)
	}
	err = parse(table, func(r row) {
		point := string(r.point)
		if slices.ContainsFunc(spelled, func(p string) bool { return within(p, point) || within(point, p) }) {
			mounts = append(mounts, fmt.Sprintf("%s %s %s %s %s", r.id, r.parent, r.device, r.root, point))
		}
	})
	return mounts, err
}

// within reports whether b is a, or lies in it.
func within(a, b string) bool { return a == "/" || a == b || strings.HasPrefix(b, a+"/") }
