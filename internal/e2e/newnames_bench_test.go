package e2e

import (
	"fmt"
	"testing"
)

// BenchmarkExecInATree is `omnijailctl exec -- true` in a tree of 2,000 folders
// that the command may read, and one that it may write, which is looked through
// and watched.
func BenchmarkExecInATree(b *testing.B) {
	n := NewNode(b, Options{NoLab: true})
	files := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n"}
	for i := range 2000 {
		files[fmt.Sprintf("d%d/e%d/f", i%50, i)] = ""
	}
	dir := n.Workspace(b, Alice, files)
	for _, mode := range []string{"--read", "--write"} {
		b.Run(mode[2:], func(b *testing.B) {
			c := Ctl{UID: Alice, Dir: dir, Args: []string{"exec", mode, ".", "--", "true"}}
			n.Run(b, c).Want(b, 0)
			for b.Loop() {
				n.Run(b, c).Want(b, 0)
			}
		})
	}
}
