package confine

import "testing"

func TestIdentityIsNeverRoot(t *testing.T) {
	for _, args := range [][]string{nil, {"1"}, {"1", "2", "3"}, {"0", "1"}, {"1", "0"}, {"-1", "1"}, {"4294967295", "1"},
		{"4294967296", "1"}, {"root", "1"}, {"", "1"}, {"1", " 2"}} {
		if id, err := parseIdentity(args); err == nil {
			t.Errorf("%q is taken as %+v", args, id)
		}
	}
	if id, err := parseIdentity([]string{"64790", "64791"}); err != nil || id != (identity{64790, 64791}) {
		t.Errorf("got %+v, %v", id, err)
	}
}

func TestMainRefusesOutsideANamespaceOfItsOwn(t *testing.T) {
	if err := run([]string{"64790", "64791"}); err == nil {
		t.Fatal("the test process was confined")
	}
	if code := Main(nil); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}
