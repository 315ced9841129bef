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
