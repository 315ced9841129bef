// gen writes docs/configuration.md from the structs of package config: each key
// with its type, its default and the comment above its field. Go's field names in
// a comment become the keys of the file.
package main

import (
	"fmt"
	"os"
)

// Paths seen from package config, where go generate runs.
const (
	source = "."
	output = "../../docs/configuration.md"
)

func main() {
	text, err := render(source)
	if err == nil {
		err = os.WriteFile(output, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
