package e2e

import (
	"fmt"
	"maps"
	"testing"
)

// BenchmarkProtected: what hidden and protected names, and files to look through,
// add to a command in a writable workspace. The last is an empty one.
func BenchmarkProtected(b *testing.B) {
	n := NewNode(b, Options{NoLab: true})
	repository := func(files map[string]string, at string) {
		maps.Copy(files, map[string]string{at + ".git/HEAD": "ref: x", at + ".git/config": "[core]\n", at + ".git/hooks/x": ""})
	}
	one, masks, nested := map[string]string{}, map[string]string{}, map[string]string{}
	repository(one, "")
	for i := range 200 {
		masks[fmt.Sprintf(".hidden-%d", i)] = ""
	}
	for i := range 50 { // four mounts each
		repository(nested, fmt.Sprintf("r%d/", i))
	}
	var all []*contender
	for _, c := range []struct {
		name  string
		files map[string]string
		dirs  int // with 100,000 files in them
	}{
		{"repository", one, 0}, {"200-masks", masks, 0}, {"50-repositories", nested, 0},
		{"100k-files-2k-dirs", nil, 2000}, {"100k-files-10k-dirs", nil, 10000}, {"empty", nil, 0},
	} {
		dir := n.Workspace(b, Alice, c.files)
		if c.dirs > 0 {
			n.outside(b, dir, `seq -f d%g 0 $(($1 - 1)) | xargs mkdir && seq 0 99999 | awk -v n=$1 '{print "d" $1 % n "/" $1}' | xargs touch`, fmt.Sprint(c.dirs))
		}
		all = append(all, &contender{name: c.name, every: 1, run: func() func() {
			cmd := n.Command(b, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", dir, "--", "true"}})
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			return nil
		}})
	}
	turns(b, all...)
}
