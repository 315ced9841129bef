package selftest

import (
	"encoding/xml"
	"io"

	"github.com/omnijail/omnijail/internal/jail"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit's XML, a suite per guarantee. What was
// not run is skipped, which is not passed.
func (r Report) WriteJUnit(w io.Writer) error {
	var out junitSuites
	for _, g := range jail.Guarantees {
		s := junitSuite{Name: "omnijail." + string(g)}
		for _, e := range r.Attempts {
			if e.Guarantee == g {
				s.add(e)
			}
		}
		if s.Tests > 0 {
			out.Suites = append(out.Suites, s)
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	return enc.Encode(out)
}

func (s *junitSuite) add(e Entry) {
	c := junitCase{Class: s.Name, Name: e.Name}
	s.Tests++
	switch e.Result {
	case Succeeded:
		s.Failures++
		c.Failure = &junitText{Message: e.Detail, Text: "tried: " + e.Tries + "\nmust: " + e.Must}
	case NotRun:
		s.Skipped++
		c.Skipped = &junitText{Message: e.Detail}
	default:
		c.Out = e.Detail
	}
	s.Cases = append(s.Cases, c)
}
