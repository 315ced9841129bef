package policy

import (
	"strings"
	"testing"
)

// A mask that would hide nothing of what it names is refused, not passed over.
func TestMasksThatHideNothing(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/gcc": "p.yaml:1: mask_paths[0]: /usr/bin/gcc lies in /usr, which every jail has from the node",
		"/bin/sh":      "/bin/sh lies in /bin, which",
		`"*.pem"`:      "mask_paths[0]: is a path, in which * stands for itself (name the folder, or each file)",
		"./keys/*":     "in which * stands for itself",
		"./keys":       "",
		`"app/[id]"`:   "",
		"/usrlocal/x":  "",
	} {
		_, err := Compile(inline(t, "mask_paths: ["+path+"]"), request(), facts())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
