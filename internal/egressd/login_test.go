package egressd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoginOfTheProxy(t *testing.T) {
	for text, want := range map[string]string{
		"corp:pass\n": "corp:pass", "corp:pass": "corp:pass", "c:p:q\r\n": "c:p:q", "c:": "c:",
		"": "", "\n": "", ":p": "", "corp": "", "a:b\nc:d\n": "", "a:b\x00": "", "a:\r\nX: y": "", "a:" + strings.Repeat("b", maxLogin): "",
	} {
		name := filepath.Join(t.TempDir(), "login")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readLogin(f)
		f.Close()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%.40q: %q %v", text, got, err)
		}
	}
	if got, err := readLogin(nil); got != "" || err != nil {
		t.Errorf("without a file: %q %v", got, err)
	}
}
