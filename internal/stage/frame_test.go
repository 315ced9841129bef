package stage

import (
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// What is shown above a mask is mounted when the mask is, and its own names after.
func TestPlanFramesWhatLiesUnderAMask(t *testing.T) {
	l := sample()
	l.Grants = []jail.OpenGrant{
		{Path: "/srv/w", Dir: true, Held: []jail.OpenName{{Name: ".tools", Dir: true}, {Name: ".tools/a", Dir: true}},
			Masked: []jail.OpenName{{Name: ".tools", Dir: true}, {Name: ".env"}}},
		{Path: "/srv/w/.tools/a/b", Dir: true, Masked: []jail.OpenName{{Name: "key"}}},
		{Path: "/srv/w/.tools/c"},
	}
	plan, err := NewPlan(l)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range plan.Steps {
		if strings.HasPrefix(s.Path, "/srv/w/.tools") {
			got = append(got, s.String())
		}
	}
	want := []string{
		"hold /srv/w/.tools name 0 of tree 0",
		"frame /srv/w/.tools name 2 of tree 0 for [{1 a/b true} {2 c false}]",
		"hide /srv/w/.tools/a/b/key name 0 of tree 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	l.Grants = append(l.Grants, jail.OpenGrant{Path: "/srv/w/.tools/a/b/inner", Dir: true})
	if _, err := NewPlan(l); err == nil {
		t.Error("a grant inside one that is shown above a mask was planned")
	}
}
