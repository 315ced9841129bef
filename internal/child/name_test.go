package child

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestNamesOfAnyBytesComeBack(t *testing.T) {
	all := Names{".env", "a b/.git", ".\x9b31m", "\xff\xfe/x", "\u202e\n", "\ufffd"}
	want := OpenGrant{Git: all}
	for i, n := range all {
		want.Masked = append(want.Masked, OpenName{Name: n, Dir: i%2 == 0, Link: i%3 == 0})
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got OpenGrant
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Git, want.Git) || !slices.Equal(got.Masked, want.Masked) {
		t.Errorf("came back as %+v, want %+v", got, want)
	}
	for _, bad := range []string{`{"git": [1]}`, `{"masked": [{"name": {"raw": "%"}}]}`, `{"git": {}}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
