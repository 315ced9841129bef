package mountwatch

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const sample = `1 0 0:1 / / rw - tmpfs t rw
7 1 8:1 /w/.env /w/.env ro,nosuid - ext4 /dev/sda rw
8 1 8:1 /w /w/a\040b\134c\012d rw shared:3 master:2 - ext4 /dev/sda rw
9 8 8:1 /w /w/a\040b\134c\012d rw - ext4 /dev/sda rw
`

func TestS09_WhatATableHasLost(t *testing.T) {
	ids, err := noted([]byte(sample), []string{"/w/.env", "/w/a b\\c\nd"})
	if err != nil || len(ids) != 3 {
		t.Fatalf("noted %v, %v", ids, err)
	}
	if gone, err := lost([]byte(sample), ids); err != nil || len(gone) != 0 {
		t.Errorf("lost %v, %v of the same table", gone, err)
	}
	// The number counts, not the name: what stands there now may be another's.
	for _, cut := range []string{"7 ", "8 ", "9 "} {
		other := strings.Replace("\n"+sample, "\n"+cut, "\n1"+cut, 1)[1:]
		if gone, err := lost([]byte(other), ids); err != nil || len(gone) != 1 {
			t.Errorf("without %q lost %v, %v", cut, gone, err)
		}
	}
	var missing *LostError
	if _, err := noted([]byte(sample), []string{"/w/.env", "/w/none"}); !errors.As(err, &missing) || !slices.Equal(missing.Places, []string{"/w/none"}) {
		t.Errorf("a place without a mount: %v", err)
	}
}

func TestS09_AStrangeTableIsNoTable(t *testing.T) {
	for _, text := range []string{"\n", "1\n", "x 0 0:1 / / rw - t t rw\n", "1 0 0:1 / relative rw - t t rw\n", " 0 0:1 / / rw\n", "1 0 0:1 / / rw - t t rw",
		"1 0 0:1 / / rw - t t rw\n1 0 0:1 / /w rw - t t rw\n"} {
		if _, err := lost([]byte(text), nil); err == nil {
			t.Errorf("%q was read", text)
		}
		if _, err := noted([]byte(text), nil); err == nil {
			t.Errorf("%q was noted", text)
		}
	}
}

func TestS26_WhatLiesAroundAPlace(t *testing.T) {
	table := []byte("1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /usr rw - ext4 b rw\n3 2 8:3 / /usr/local rw - ext4 c rw\n" +
		"4 1 8:4 / /usr-other rw - ext4 d rw\n5 1 0:9 / /usr\\040x rw - tmpfs e rw\n")
	for place, want := range map[string]int{"/usr": 3, "/usr/local/lib": 3, "/usr x/y": 2, "/usr-other": 2, "/etc": 1, "/": 5} {
		if got, err := around(table, []string{place}); err != nil || len(got) != want {
			t.Errorf("around %s: %q, %v", place, got, err)
		}
	}
	before, _ := around(table, []string{"/usr"})
	after, _ := around([]byte(strings.Replace(string(table), "8:3", "8:5", 1)), []string{"/usr"})
	if slices.Equal(before, after) {
		t.Error("another file system with the number of the same mount is the same")
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte(sample), "/w/.env")
	f.Fuzz(func(t *testing.T, table []byte, place string) {
		ids, err := noted(table, []string{place})
		if err != nil {
			return
		}
		if gone, err := lost(table, ids); err != nil || len(gone) > 0 {
			t.Errorf("a table has lost %q of itself, %v", gone, err)
		}
	})
}
