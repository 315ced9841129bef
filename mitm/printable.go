package mitm

import (
	"fmt"
	"strings"
)

// printable makes foreign text safe to stand in a header or a message of ours:
// all but printable ASCII is written as an escape, and it is cut at max bytes.
func printable(s string, max int) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() >= max {
			b.WriteString("...")
			break
		}
		if r >= ' ' && r < 0x7f {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
