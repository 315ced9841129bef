package creds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// TestA81_SecretNeverPrints holds that no way of printing or encoding gives the value.
func TestA81_SecretNeverPrints(t *testing.T) {
	const value = "hunter2hunter2"
	s, err := NewSecret([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	holder := struct{ S, P any }{s, &s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%10.3v"} {
		fmt.Fprintf(&out, verb+verb+verb, s, &s, holder)
	}
	fmt.Fprint(&out, s, &s, []Secret{s}, map[string]Secret{"k": s}, s.String(), fmt.Errorf("x: %v", s))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "s", s, "h", holder)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", s, "h", holder)
	for _, v := range []any{s, &s, holder, map[string]any{"s": s}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	hex, list := fmt.Sprintf("%x", value), fmt.Sprint([]byte(value))
	for _, form := range []string{value, value[:6], hex, strings.ToUpper(hex), list[1:20]} {
		if strings.Contains(out.String(), form) {
			t.Errorf("the value appears as %q in %s", form, &out)
		}
	}
	if string(s.Reveal()) != value {
		t.Errorf("Reveal gives %q", s.Reveal())
	}
}

func TestRead(t *testing.T) {
	for in, want := range map[string]string{
		"s3":                                    "s3",
		"s3\n":                                  "s3",
		"s3\r\n":                                "s3",
		" s3 \n":                                " s3 ",
		"s3\n\n":                                "",
		"s\n3":                                  "",
		"s\r3":                                  "",
		"s3\r":                                  "",
		"s\x003":                                "",
		"s\x1b[3m":                              "",
		"":                                      "no value",
		"\n":                                    "no value",
		"\r\n":                                  "no value",
		strings.Repeat("a", MaxSecret):          strings.Repeat("a", MaxSecret),
		strings.Repeat("a", MaxSecret) + "\r\n": strings.Repeat("a", MaxSecret),
		strings.Repeat("a", MaxSecret+1):        "",
		strings.Repeat("a", MaxSecret+1) + "\n": "",
		strings.Repeat("a", MaxSecret) + "\n\n\n": "",
	} {
		s, err := readPipe(t, in)
		switch {
		case want == "no value":
			if !errors.Is(err, ErrNoValue) {
				t.Errorf("%.20q: %v, want ErrNoValue", in, err)
			}
		case want == "":
			if err == nil || errors.Is(err, ErrNoValue) || strings.Contains(err.Error(), "s3") {
				t.Errorf("%.20q: %v, want a refusal without the value", in, err)
			}
		case err != nil || string(s.Reveal()) != want:
			t.Errorf("%.20q: %d bytes, %v", in, len(s.Reveal()), err)
		}
	}
}

func readPipe(t *testing.T, in string) (Secret, error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		defer w.Close()
		w.WriteString(in) // EPIPE once Read has had enough
	}()
	return Read(r)
}
