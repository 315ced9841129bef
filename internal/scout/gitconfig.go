package scout

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// setting is one line of a git configuration file. Section and key are lower
// case; the subsection is as written.
type setting struct {
	section, subsection, key, value string
}

// parseGitConfig reads a git configuration file as far as the syntax goes; what
// the keys mean is for others. Input beyond the syntax is an error.
func parseGitConfig(text []byte) ([]setting, error) {
	p := gitParser{text: bytes.TrimPrefix(text, []byte("\ufeff"))}
	for {
		done, err := p.line()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(p.text[:p.at], []byte("\n")), err)
		}
		if done {
			return p.out, nil
		}
	}
}

type gitParser struct {
	text                []byte
	at                  int
	section, subsection string
	out                 []setting
}

// next returns the next byte, 0 at the end of the input. A CR before a newline is
// part of the newline.
func (p *gitParser) next() byte {
	if p.at >= len(p.text) {
		return 0
	}
	c := p.text[p.at]
	p.at++
	if c == '\r' && p.at < len(p.text) && p.text[p.at] == '\n' {
		p.at++
		return '\n'
	}
	return c
}

func (p *gitParser) ended() bool { return p.at >= len(p.text) }

func (p *gitParser) skip(in string) {
	for !p.ended() && strings.IndexByte(in, p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *gitParser) skipLine() {
	for !p.ended() && p.next() != '\n' {
	}
}

// line reads one header, setting or comment.
func (p *gitParser) line() (done bool, err error) {
	p.skip(" \t\r\n")
	if p.ended() {
		return true, nil
	}
	switch c := p.text[p.at]; {
	case c == '#' || c == ';':
		p.skipLine()
		return false, nil
	case c == '[':
		p.at++
		return false, p.header()
	case isAlpha(c):
		return false, p.setting()
	}
	return false, errors.New("neither a section nor a key")
}

func (p *gitParser) header() error {
	start := p.at
	for !p.ended() && (isKeyByte(p.text[p.at]) || p.text[p.at] == '.') {
		p.at++
	}
	p.section, p.subsection = strings.ToLower(string(p.text[start:p.at])), ""
	if before, after, ok := strings.Cut(p.section, "."); ok { // the old form [a.b]
		p.section, p.subsection = before, after
	}
	p.skip(" \t")
	if !p.ended() && p.text[p.at] == '"' {
		p.at++
		if err := p.quotedSubsection(); err != nil {
			return err
		}
	}
	if p.section == "" || p.next() != ']' {
		return errors.New("malformed section header")
	}
	return nil
}

func (p *gitParser) quotedSubsection() error {
	var b strings.Builder
	for {
		c := p.next()
		if c == '\\' {
			c = p.next()
		} else if c == '"' {
			p.subsection = b.String()
			return nil
		}
		if c == 0 || c == '\n' {
			return errors.New("unterminated subsection")
		}
		b.WriteByte(c)
	}
}

func (p *gitParser) setting() error {
	if p.section == "" {
		return errors.New("a key before any section")
	}
	start := p.at
	for !p.ended() && isKeyByte(p.text[p.at]) {
		p.at++
	}
	s := setting{section: p.section, subsection: p.subsection, key: strings.ToLower(string(p.text[start:p.at])), value: "true"}
	p.skip(" \t")
	switch c := p.next(); c {
	case '=':
		value, err := p.value()
		if err != nil {
			return err
		}
		s.value = value
	case 0, '\n':
	case '#', ';':
		p.skipLine()
	default:
		return fmt.Errorf("unexpected %q after a key", c)
	}
	p.out = append(p.out, s)
	return nil
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isKeyByte(c byte) bool { return isAlpha(c) || c >= '0' && c <= '9' || c == '-' }
