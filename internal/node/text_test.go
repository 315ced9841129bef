package node

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

var update = flag.Bool("update", false, "rewrite testdata/report.txt")

func TestText(t *testing.T) {
	got := able(no(Memory), dunno(PeerPidfd)).Report(nil).Text()
	if *update {
		if err := os.WriteFile("testdata/report.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		report Report
		want   string
	}{
		{able().Report(nil), "everything is enforced here"},
		{able(no(Memory)).Report(nil), "jails run here, with less than there could be; see below: limits"},
		{able(no(CoreLimit)).Report(nil), "jails run here, with less than there could be; see below: core_limit"},
		{able(no(Bwrap), no(Bare)).Report(nil), "jails cannot run here"},
		{able(no(Bwrap)).Report(nil), "jails run here, with less than there could be; see below: linux_bwrap"},
		{able(no(Memory)).Report([]jail.Guarantee{jail.LimitsHeld}), "a required guarantee is missing: limits"},
	} {
		if got, _, _ := strings.Cut(tc.report.Text(), "\n"); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
