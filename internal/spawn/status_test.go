package spawn

import (
	"errors"
	"strings"
	"testing"
)

func TestReadExit(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
		none bool
		bad  bool
	}{
		{in: "{\"child-pid\": 12}\n{\"exit-code\": 0}\n"},
		{in: "{\"child-pid\": 12, \"pid-namespace\": 4026532}\n{\"exit-code\": 137, \"later\": [1]}\n", want: 137},
		{in: "{\"child-pid\": 12}\n", none: true},
		{in: "", none: true},
		{in: "{\"exit-code\": 256}\n", none: true},
		{in: "{\"exit-code\": -1}\n", none: true},
		{in: "bwrap: oops\n", bad: true},
		{in: "{\"exit-code\": 0" + strings.Repeat(" ", maxStatusLine) + "}\n", bad: true},
	} {
		got, err := ReadExit(strings.NewReader(c.in))
		if got != c.want || errors.Is(err, ErrNoExit) != c.none || (err != nil) != (c.none || c.bad) {
			t.Errorf("%.40q: %d, %v", c.in, got, err)
		}
	}
}
