package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decode reads the file over the defaults that c holds.
func decode(b []byte, c *Config) error {
	if saysNothing(b) {
		return nil
	}
	unset := []Access{{}}
	c.Access = unset
	if err := yaml.Load(b, c, yaml.WithKnownFields()); err != nil {
		return readable(err)
	}
	switch {
	case c.Access == nil:
		return errors.New("access: is empty: list who may do what, or leave the key out for the default")
	case len(c.Access) == 1 && &c.Access[0] == &unset[0]:
		c.Access = []Access{DefaultAccess(c.Group)}
	}
	return nil
}

// saysNothing reports whether every line is blank or a comment, as in the file
// that the packages install. To the decoder that is no document at all.
func saysNothing(b []byte) bool {
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

var unknownKey = regexp.MustCompile(`^field (\S+) not found in type .*`)

// readable words the decoder's errors for an operator, who knows keys and not
// the types of this program.
func readable(err error) error {
	var all *yaml.LoadErrors
	if !errors.As(err, &all) {
		return err
	}
	var out []error
	for _, e := range all.Errors {
		text := unknownKey.ReplaceAllString(e.Message, "unknown key $1")
		where := fmt.Sprintf("line %d: ", e.Mark.Line)
		if e.Mark.Line == 0 || strings.HasPrefix(text, "line ") {
			where = ""
		}
		out = append(out, errors.New(where+text))
	}
	return errors.Join(out...)
}
