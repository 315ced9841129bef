package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/omnijail/omnijail/creds"
)

// ValidName reports whether s can name a policy or a credential.
func ValidName(s string) bool { return creds.ValidName(s) }

// printable reports whether a terminal shows all of s as it is: no control
// character, nothing invisible, nothing that turns the direction of writing.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// str reads a printable string. Numbers and booleans are not strings: a value
// that YAML changed on the way is not what was meant.
func (d *decoder) str(key string, n *node) string {
	switch {
	case n.kind != scalar:
		d.errorf(n.at, key, "must be a string, not %v", n.kind)
	case n.tag != tagString:
		d.errorf(n.at, key, "must be a string: write %q in quotes", n.text)
	case !printable(n.text):
		d.errorf(n.at, key, "holds a control or an invisible character: %q", clip(n.text))
	default:
		return n.text
	}
	return ""
}

// clip bounds what a message quotes.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

func (d *decoder) name(key string, n *node) string {
	s := d.str(key, n)
	if s != "" && !ValidName(s) {
		d.errorf(n.at, key, "%.64q is not a name: lower-case letters, digits, '.', '_' and '-', at most 64", s)
		return ""
	}
	return s
}

func (d *decoder) boolean(key string, n *node) bool {
	if n.kind != scalar || n.tag != tagBool {
		d.errorf(n.at, key, "must be true or false")
		return false
	}
	return n.text == "true"
}

func (d *decoder) integer(key string, n *node, low, high int64) int64 {
	i, err := strconv.ParseInt(n.text, 10, 64)
	if n.kind != scalar || n.tag != tagInt || err != nil || i < low || i > high {
		d.errorf(n.at, key, "must be a whole number from %d to %d", low, high)
		return 0
	}
	return i
}

func (d *decoder) oneOf(key string, n *node, words ...string) string {
	s := d.str(key, n)
	if s != "" && !slices.Contains(words, s) {
		d.errorf(n.at, key, "%.64q is none of %s", s, strings.Join(words, ", "))
		return ""
	}
	return s
}

// items returns the elements of a list; one scalar stands for a list of one
// where single allows it.
func (d *decoder) items(key string, n *node, single bool) []*node {
	switch {
	case n.kind == list && len(n.items) > maxItems:
		d.errorf(n.at, key, "more than %d entries", maxItems)
		return nil
	case n.kind == list:
		return n.items
	case n.kind == scalar && single:
		return []*node{n}
	}
	d.errorf(n.at, key, "must be a list, not %v", n.kind)
	return nil
}

// words reads a list of non-empty strings.
func (d *decoder) words(key string, n *node) []Item {
	var out []Item
	for i, item := range d.items(key, n, false) {
		k := index(key, i)
		if s := d.str(k, item); s != "" {
			out = append(out, Item{s, item.at})
		} else if item.kind == scalar && item.tag == tagString && item.text == "" {
			d.errorf(item.at, k, "is empty")
		}
	}
	return out
}

func index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// duration reads 90, "90s", "5m" or "1h30m"; a bare number is seconds.
func (d *decoder) duration(key string, n *node) time.Duration {
	if n.kind == scalar && n.tag == tagInt {
		return time.Duration(d.integer(key, n, 1, 1<<31)) * time.Second
	}
	s := d.str(key, n)
	if s == "" {
		return 0
	}
	v, err := time.ParseDuration(s)
	if err != nil || v <= 0 {
		d.errorf(n.at, key, "%.64q is not a duration: write 90s, 5m or 1h30m", s)
		return 0
	}
	return v
}
