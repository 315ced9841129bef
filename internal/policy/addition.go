package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Addition is what may be added to a policy: whole entries of its lists.
type Addition struct {
	Rules []string // of egress_rules, in the short form
	Read  []string // of read_paths
	Write []string // of write_paths
}

// keys are the lists in the order in which they are written.
func (a Addition) keys() []struct {
	name string
	list []string
} {
	return []struct {
		name string
		list []string
	}{{"egress_rules", a.Rules}, {"read_paths", a.Read}, {"write_paths", a.Write}}
}

// YAML returns the lines for a policy file. Entries may hold what a jail wrote:
// they are written by the encoder, and the text is read back and must hold exactly
// these entries and nothing else.
func (a Addition) YAML() (string, error) {
	var b strings.Builder
	for _, k := range a.keys() {
		if len(k.list) == 0 {
			continue
		}
		b.WriteString(k.name + ":\n")
		for _, entry := range k.list {
			b.WriteString("  - " + quoteYAML(entry) + "\n")
		}
	}
	if b.Len() == 0 {
		return "", nil
	}
	return b.String(), a.check(b.String())
}

// check reads the text as a policy and compares.
func (a Addition) check(text string) error {
	rep := &report{}
	tree := readYAML("suggestion", []byte(text), rep)
	doc := decodeNative(tree, false, rep)
	if err := rep.err(); err != nil {
		return fmt.Errorf("a suggestion does not read as a policy: %w", err)
	}
	var rules []string
	for _, r := range doc.Rules {
		rules = append(rules, r.Text)
	}
	known := 0
	for _, k := range a.keys() {
		if len(k.list) > 0 {
			known++
		}
	}
	if len(tree.fields) != known || !slices.Equal(rules, a.Rules) || !slices.Equal(words(doc.Read), a.Read) || !slices.Equal(words(doc.Write), a.Write) {
		return errors.New("a suggestion does not read back as what was meant")
	}
	return nil
}

func words(items []Item) (out []string) {
	for _, i := range items {
		out = append(out, i.Text)
	}
	return out
}

// Quote is one string as a YAML scalar, written by the encoder: nothing in it can
// become another key, or move a terminal's cursor.
func Quote(s string) string { return quoteYAML(s) }

// Line is one list of a policy with the entries given, written by the encoder on
// one line.
func Line(key string, entries ...string) string {
	quoted := make([]string, len(entries))
	for i, e := range entries {
		quoted[i] = quoteYAML(e)
	}
	return key + ": [" + strings.Join(quoted, ", ") + "]"
}
