package scout

import (
	"errors"
	"strings"
)

// value reads a value to the end of its line: quotes, escapes and continuation
// lines as git reads them, blanks around it dropped.
func (p *gitParser) value() (string, error) {
	p.skip(" \t")
	var b strings.Builder
	quoted, keep := false, 0 // keep: length without trailing blanks
	for {
		c := p.next()
		switch {
		case c == 0 || c == '\n':
			if quoted {
				return "", errors.New("unterminated quote")
			}
			return b.String()[:keep], nil
		case c == '\\':
			e, err := p.escape()
			if err != nil {
				return "", err
			}
			if e == 0 { // the line goes on
				continue
			}
			b.WriteByte(e)
			keep = b.Len()
		case c == '"':
			quoted = !quoted
			keep = max(keep, b.Len())
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return b.String()[:keep], nil
		default:
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' {
				keep = b.Len()
			}
		}
	}
}

// escape returns the byte that an escape stands for, 0 for a continued line.
func (p *gitParser) escape() (byte, error) {
	switch c := p.next(); c {
	case '\n':
		return 0, nil
	case 'n':
		return '\n', nil
	case 't':
		return '\t', nil
	case 'b':
		return '\b', nil
	case '\\', '"':
		return c, nil
	}
	return 0, errors.New("unknown escape")
}
