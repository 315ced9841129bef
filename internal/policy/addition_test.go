package policy

import "testing"

func TestS24_AnAdditionHoldsWhatWasMeantOrNothing(t *testing.T) {
	a := Addition{Rules: []string{"GET api.test/**"}, Read: []string{"/a b", "/x: {y} - z"}, Write: []string{"/w"}}
	text, err := a.YAML()
	if err != nil {
		t.Fatal(err)
	}
	const want = "egress_rules:\n  - \"GET api.test/**\"\nread_paths:\n  - \"/a b\"\n  - \"/x: {y} - z\"\nwrite_paths:\n  - \"/w\"\n"
	if text != want {
		t.Errorf("%q", text)
	}
	for _, bad := range []Addition{{Rules: []string{"no rule"}}, {Read: []string{"/a/$HOME"}}, {Write: []string{""}}, {Read: []string{"/x\n- z"}}} {
		if text, err := bad.YAML(); err == nil {
			t.Errorf("%+v became %q", bad, text)
		}
	}
	if got := Line("read_paths", "/a\"]", "/b"); got != `read_paths: ["/a\"]", "/b"]` {
		t.Errorf("%s", got)
	}
}
