package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// width is where lines are cut.
const width = 100

// screen prints the demo and counts the proofs that failed.
type screen struct {
	w      io.Writer
	color  bool
	failed int
}

func newScreen(f *os.File) *screen {
	_, no := os.LookupEnv("NO_COLOR")
	return &screen{w: f, color: !no && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))}
}

const (
	bold  = "1"
	dim   = "2"
	green = "32"
	red   = "31"
)

func (s *screen) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) title(text string) {
	fmt.Fprintf(s.w, "\n%s %s\n", s.paint(bold, "omnijail:"), text)
}

// head begins a scene.
func (s *screen) head(text string) { fmt.Fprintf(s.w, "\n%s\n", s.paint(bold, cut(text, 0))) }

// typed shows what somebody types, and who.
func (s *screen) typed(command, who string) {
	fmt.Fprintf(s.w, "\n%s %s   %s\n", s.paint(dim, "$"), s.paint(bold, command), s.paint(dim, who))
}

// line shows the beginning of a program's own words.
func (s *screen) line(text string) { fmt.Fprintf(s.w, "    %s\n", cut(text, 4)) }

// lines shows all of them, what is too long below a hanging indent.
func (s *screen) lines(text string, hang int) {
	rest := []rune(printable(text))
	for indent := 4; ; indent = 4 + hang {
		room := width - indent
		if len(rest) <= room {
			fmt.Fprintf(s.w, "%*s%s\n", indent, "", string(rest))
			return
		}
		at := room
		for i := room; i > room/2; i-- {
			if rest[i] == ' ' {
				at = i
				break
			}
		}
		fmt.Fprintf(s.w, "%*s%s\n", indent, "", string(rest[:at]))
		rest = []rune(strings.TrimSpace(string(rest[at:])))
	}
}

// proof shows a claim and whether it held.
func (s *screen) proof(held bool, format string, args ...any) {
	mark := s.paint(green, "ok")
	if !held {
		s.failed++
		mark = s.paint(red, "NO")
	}
	fmt.Fprintf(s.w, "%s  %s\n", mark, cut(fmt.Sprintf(format, args...), 4))
}

// verdict is the end: nil when every proof held.
func (s *screen) verdict() error {
	fmt.Fprintln(s.w)
	switch s.failed {
	case 0:
		return nil
	case 1:
		return errors.New("1 proof failed")
	}
	return fmt.Errorf("%d proofs failed", s.failed)
}

// cut makes text one line of the screen's width behind an indent.
func cut(text string, indent int) string {
	r := []rune(printable(text))
	if len(r) > width-indent {
		return string(r[:width-indent-1]) + "…"
	}
	return string(r)
}

// printable keeps a program's words from moving the cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
}
