package egress

// GlobsMeet reports whether some path matches both globs, which must be checked.
// It is exact for whole segments and errs on the side of true within one, so two
// globs that do not meet are surely disjoint.
func GlobsMeet(a, b string) bool { return sequencesMeet(segments(a), segments(b)) }

// sequencesMeet fills a table: meet[i][j] says whether a[i:] and b[j:] share a
// sequence of segments.
func sequencesMeet(a, b []string) bool {
	below := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		row := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			row[j] = meetAt(a[i:], b[j:], below, row, j)
		}
		below = row
	}
	return below[0]
}

// meetAt decides one cell from the cells below it and to its right.
func meetAt(a, b []string, below, row []bool, j int) bool {
	switch {
	case len(a) == 0 && len(b) == 0:
		return true
	case len(a) > 0 && a[0] == "**":
		return below[j] || len(b) > 0 && row[j+1]
	case len(b) > 0 && b[0] == "**":
		return row[j+1] || len(a) > 0 && below[j]
	case len(a) == 0 || len(b) == 0:
		return false
	}
	return below[j+1] && segmentsMeet(a[0], b[0])
}

// segmentsMeet compares what stands before the first and after the last wildcard.
func segmentsMeet(a, b string) bool {
	return endsMeet(a, b, forward) && endsMeet(a, b, backward)
}

type direction int

const (
	forward direction = iota
	backward
)

// endsMeet walks from one end up to a star of either. Without a star both must
// end together; the walk from the other end then says the same.
func endsMeet(a, b string, d direction) bool {
	at := func(s string, i int) byte {
		if d == backward {
			return s[len(s)-1-i]
		}
		return s[i]
	}
	for i := 0; ; i++ {
		if i == len(a) || i == len(b) {
			return onlyStars(a, i, d) && onlyStars(b, i, d)
		}
		x, y := at(a, i), at(b, i)
		if x == '*' || y == '*' || x == '?' || y == '?' {
			return true // an escape is as wide as ?, so ? ends the comparison too
		}
		if x != y {
			return false
		}
	}
}

// onlyStars reports whether what lies beyond i may be empty.
func onlyStars(s string, i int, d direction) bool {
	rest := s[i:]
	if d == backward {
		rest = s[:len(s)-i]
	}
	for _, c := range rest {
		if c != '*' {
			return false
		}
	}
	return true
}
