package main

import "bytes"

// search runs in the jail and sends all that a thief could read to the demo,
// which looks through it outside: so nothing in the jail knows what is looked
// for, and the search does not find itself. /usr is the node's own and the same
// for everybody.
const search = `
env
cat /proc/*/environ /proc/*/cmdline /proc/*/status /proc/*/mountinfo /proc/*/maps 2>/dev/null
find / \( -path /usr -o -path /proc -o -path /sys -o -path /dev \) -prune -o -print0 2>/dev/null | tr '\0' '\n'
find / \( -path /usr -o -path /proc -o -path /sys -o -path /dev \) -prune -o -type f -readable -print0 2>/dev/null |
	xargs -0 -r cat 2>/dev/null
true`

// finder counts a text in a stream, also where two writes share it.
type finder struct {
	text  []byte
	tail  []byte // end of what came before, shorter than text
	found int
}

func newFinder(text string) *finder { return &finder{text: []byte(text)} }

func (f *finder) look(p []byte) {
	joined := append(f.tail, p...)
	f.found += bytes.Count(joined, f.text)
	keep := min(len(joined), len(f.text)-1)
	f.tail = bytes.Clone(joined[len(joined)-keep:])
}

// counting gives a stream to finders and counts its bytes.
type counting struct {
	to    []*finder
	bytes int
}

func (c *counting) Write(p []byte) (int, error) {
	for _, f := range c.to {
		f.look(p)
	}
	c.bytes += len(p)
	return len(p), nil
}
