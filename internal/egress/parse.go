package egress

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const maxRuleText = 2048

// SyntaxError says where a rule's text is wrong.
type SyntaxError struct {
	Text   string // the rule
	Column int    // 1-based, in characters
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("egress rule %.200q, column %d: %s", e.Text, e.Column, e.Msg)
}

// ParseRule parses the string form of a rule. Errors are *SyntaxError.
func ParseRule(text string) (Rule, error) {
	p := &ruleParser{text: text}
	if len(text) > maxRuleText {
		return Rule{}, p.fail(0, fmt.Errorf("longer than %d bytes", maxRuleText))
	}
	if !utf8.ValidString(text) { // it would be another text in a record
		return Rule{}, p.fail(0, errors.New("not valid UTF-8: write such a byte as %XX"))
	}
	r, err := p.rule()
	if err != nil {
		return Rule{}, err
	}
	r.Text = strings.TrimSpace(text)
	canon, err := r.canonical()
	if err != nil {
		return Rule{}, p.fail(p.blame(err), err)
	}
	return canon, nil
}

// ruleParser walks over the text once. The offsets of the parts are kept for
// errors that are found only when a part is looked at as a whole.
type ruleParser struct {
	text             string
	pos              int
	host, path, meth int
}

func (p *ruleParser) fail(at int, err error) error {
	return &SyntaxError{Text: p.text, Column: utf8.RuneCountInString(p.text[:at]) + 1, Msg: err.Error()}
}

// blame returns the offset of the part that a canonicalisation error is about.
func (p *ruleParser) blame(err error) int {
	switch part, _, _ := strings.Cut(err.Error(), ":"); part {
	case "path":
		return p.path
	case "methods":
		return p.meth
	}
	return p.host
}

func (p *ruleParser) rule() (Rule, error) {
	var r Rule
	p.blanks()
	r.Deny = p.accept("!")
	p.blanks()
	p.meth = p.pos
	if p.accept("tcp://") {
		r.Scheme = TCP
	} else {
		if err := p.methods(&r); err != nil {
			return r, err
		}
		if err := p.scheme(&r); err != nil {
			return r, err
		}
	}
	if err := p.authority(&r); err != nil {
		return r, err
	}
	p.path = p.pos
	r.Path = p.until(" \t")
	if r.Scheme == TCP && r.Path != "" {
		return r, p.fail(p.path, errors.New("a tcp rule has no path: the stream is not inspected"))
	}
	p.blanks()
	if p.pos < len(p.text) {
		return r, p.fail(p.pos, errors.New("text after the rule"))
	}
	return r, nil
}

// methods reads the comma list and the blank after it.
func (p *ruleParser) methods(r *Rule) error {
	for {
		at := p.pos
		m := p.until(", \t")
		if _, err := canonicalMethods([]string{m}); err != nil {
			if strings.ContainsAny(m, "./:") {
				err = errors.New(`a rule begins with methods, as in "GET,HEAD api.example.com/**"`)
			}
			return p.fail(at, err)
		}
		r.Methods = append(r.Methods, m)
		if !p.accept(",") {
			break
		}
		p.blanks()
	}
	p.blanks()
	if p.pos == len(p.text) {
		return p.fail(p.pos, errors.New("a host is missing after the methods"))
	}
	if p.text[p.pos] == ',' {
		return p.fail(p.pos, errors.New("no blank before a comma"))
	}
	return nil
}

func (p *ruleParser) scheme(r *Rule) error {
	if p.accept("http://") {
		r.Scheme = HTTP
		return nil
	}
	r.Scheme = HTTPS
	scheme, _, ok := strings.Cut(p.text[p.pos:], "://")
	switch {
	case !ok || strings.ContainsAny(scheme, "/ \t"):
		return nil
	case strings.EqualFold(scheme, "https"):
		return p.fail(p.pos, errors.New("https is the default: leave https:// out"))
	}
	return p.fail(p.pos, errors.New("unknown scheme: http:// after the methods and tcp:// alone are known"))
}

// authority reads HOST[:PORT].
func (p *ruleParser) authority(r *Rule) error {
	p.host = p.pos
	text := p.until("/ \t")
	if i := strings.IndexAny(text, "@?#"); i >= 0 {
		return p.fail(p.host+i, fmt.Errorf("%q does not belong in a host", text[i]))
	}
	host, port, err := p.cutPort(text)
	if err != nil {
		return err
	}
	if dot := len(host) - 1; dot > 0 && host[dot] == '.' {
		return p.fail(p.host+dot, errors.New("leave the trailing dot out"))
	}
	switch port {
	case "":
		if r.Port = r.Scheme.Port(); r.Port == 0 {
			return p.fail(p.pos, errors.New("a tcp rule names its port"))
		}
	case "*":
		r.Port = 0
	default:
		if r.Port, err = parsePort(port); err != nil {
			return p.fail(p.pos-len(port), err)
		}
	}
	r.Host = host
	return nil
}

// cutPort splits the authority and takes the brackets of an IPv6 address off.
func (p *ruleParser) cutPort(text string) (host, port string, err error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		host, rest, closed := strings.Cut(inner, "]")
		if !closed {
			return "", "", p.fail(p.host, errors.New("a bracket is not closed"))
		}
		if !strings.Contains(host, ":") {
			return "", "", p.fail(p.host, errors.New("only an IPv6 address stands in brackets"))
		}
		if rest == "" {
			return host, "", nil
		}
		if rest[0] != ':' || rest == ":" {
			return "", "", p.fail(p.pos-len(rest), errors.New("after the bracket comes :PORT or nothing"))
		}
		return host, rest[1:], nil
	}
	host, port, colon := strings.Cut(text, ":")
	if colon && port == "" {
		return "", "", p.fail(p.pos-1, errors.New("a colon without a port"))
	}
	if strings.Contains(port, ":") {
		return "", "", p.fail(p.host, errors.New("an IPv6 address needs brackets"))
	}
	return host, port, nil
}

func (p *ruleParser) accept(s string) bool {
	if strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *ruleParser) blanks() {
	for p.accept(" ") || p.accept("\t") {
		continue
	}
}

// until reads up to one of the stop bytes or the end.
func (p *ruleParser) until(stop string) string {
	rest := p.text[p.pos:]
	if i := strings.IndexAny(rest, stop); i >= 0 {
		rest = rest[:i]
	}
	p.pos += len(rest)
	return rest
}
