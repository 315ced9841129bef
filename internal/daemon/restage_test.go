package daemon

import (
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestS09_WhatAStartWouldProtectNow(t *testing.T) {
	then := []jail.OpenGrant{{Path: "/w", Dir: true, Write: true, ReadOnly: []jail.OpenName{{Name: ".git/config"}, {Name: ".git/hooks", Dir: true}}}}
	for what, c := range map[string]struct {
		now jail.OpenGrant
		ok  bool
	}{
		"the same":               {then[0], true},
		"less":                   {jail.OpenGrant{Path: "/w", Dir: true, Write: true}, true},
		"more that is hidden":    {jail.OpenGrant{Path: "/w", Dir: true, Write: true, Masked: []jail.OpenName{{Name: ".made"}}}, true},
		"more that is protected": {jail.OpenGrant{Path: "/w", Dir: true, Write: true, ReadOnly: []jail.OpenName{{Name: "included"}}}, false},
		"of another kind":        {jail.OpenGrant{Path: "/w", Dir: true, Write: true, ReadOnly: []jail.OpenName{{Name: ".git/hooks"}}}, false},
		"a file for a directory": {jail.OpenGrant{Path: "/w", Write: true}, false},
		"somewhere else":         {jail.OpenGrant{Path: "/v", Dir: true, Write: true}, false},
	} {
		if err := coveredBy(then, []jail.OpenGrant{c.now}); (err == nil) != c.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}
