package creds

import (
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		text              string
		name, env, header bool
	}{
		{"", false, false, false},
		{"a", true, true, true},
		{"A", false, true, true},
		{"9", true, false, true},
		{"_", false, true, false},
		{"-a", false, false, false},
		{".a", false, false, false},
		{"a.b-c_9", true, false, false},
		{"X-Api_Key", false, false, true},
		{"GH_TOKEN9", false, true, true},
		{"a b", false, false, false},
		{"a\n", false, false, false},
		{"a\x00", false, false, false},
		{"é", false, false, false},
		{"a:b", false, false, false},
		{"a=b", false, false, false},
		{long(64), true, true, true},
		{long(65), false, true, true},
		{long(128), false, true, true},
		{long(129), false, false, false},
	} {
		if ValidName(c.text) != c.name || ValidEnv(c.text) != c.env || validHeader(c.text) != c.header {
			t.Errorf("%.20q (%d bytes): name %v, env %v, header %v", c.text, len(c.text), ValidName(c.text), ValidEnv(c.text), validHeader(c.text))
		}
	}
}
