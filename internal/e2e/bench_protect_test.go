package e2e

import (
	"fmt"
	"maps"
	"testing"
)

// BenchmarkProtected: what hidden and protected names, and files to look through,
// add to a command in a writable workspace: one in which another has just run, and
// one, first, of which no scout knows anything. The last is an empty one.
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
		first bool
	}{
		{"repository", one, 0, false}, {"200-masks", masks, 0, false}, {"50-repositories", nested, 0, false},
		{"100k-files-2k-dirs", nil, 2000, false}, {"100k-files-2k-dirs-first", nil, 2000, true},
		{"100k-files-10k-dirs", nil, 10000, false}, {"empty", nil, 0, false},
	} {
		dir := n.Workspace(b, Alice, c.files)
		if c.dirs > 0 {
			n.outside(b, dir, `seq -f d%g 0 $(($1 - 1)) | xargs mkdir && seq 0 99999 | awk -v n=$1 '{print "d" $1 % n "/" $1}' | xargs touch`, fmt.Sprint(c.dirs))
		}
		every, then := 1, func() {}
		if c.first { // nobody has been there before
			every, then = cold, func() {
				of := dir
				dir = n.Workspace(b, Alice, nil)
				n.outside(b, dir, "cp -al $1/. .", of)
			}
		}
		all = append(all, &contender{name: c.name, every: every, run: func() func() {
			cmd := n.Command(b, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", dir, "--", "true"}})
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			return then
		}})
	}
	turns(b, all...)
}
