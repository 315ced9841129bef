package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/omnijail/omnijail/internal/lab"
)

// works is the main job.
func works(ctx context.Context, st *stage, scr *screen) error {
	scr.typed("omnijailctl exec -- gh api user", fmt.Sprintf("(uid %d, with GH_TOKEN; no policy of its own)", person))
	var answer bytes.Buffer
	errs, err := st.omnijailctl(ctx, &answer, "exec", "--", "gh", "api", "user")
	if err != nil {
		return fmt.Errorf("gh api user: %w\n%s", err, errs)
	}
	scr.line(answer.String())
	scr.proof(strings.Contains(answer.String(), `"login"`), "gh has its answer")
	return nil
}

// arrived shows what went over the wire.
func arrived(_ context.Context, st *stage, scr *screen) error {
	if st.lab == nil {
		return nil // the real one does not tell
	}
	scr.head("what the upstream saw (fingerprints: the first 8 digits of a SHA-256)")
	want := lab.Fingerprint("token " + st.token)
	var good bool
	for _, s := range st.lab.Seen() {
		scr.line(fmt.Sprintf("%s https://%s%s   Authorization: %s", s.Method, s.Host, s.Target, s.Authorization()))
		good = s.TLS && s.Authorization() == want
	}
	scr.proof(good, `"token $GH_TOKEN" has the fingerprint %s: the real token arrived`, want)
	return nil
}

// hidden looks for the token from inside.
func hidden(ctx context.Context, st *stage, scr *screen) error {
	scr.head("what the command can find: its environment, /proc, every file that it may read outside /usr")
	secret, own := newFinder(st.token), newFinder("GH_TOKEN=")
	all := &counting{to: []*finder{secret, own}}
	errs, err := st.omnijailctl(ctx, all, "exec", "--", "sh", "-c", search)
	if err != nil {
		return fmt.Errorf("search: %w\n%s", err, errs)
	}
	scr.proof(own.found > 0, "the search sees: it found the variable GH_TOKEN %d times in %d KiB", own.found, all.bytes>>10)
	scr.proof(secret.found == 0, "the real token is %d times among it", secret.found)
	return nil
}

// attempt is something that no rule allows.
type attempt struct {
	shown string
	argv  []string
	what  string // as the journal has it
}

var attempts = []attempt{
	{"curl https://example.com", []string{"curl", "-sS", "-m", "20", "https://example.com"}, "example.com"},
	{"a plain TCP connection to 192.0.2.7, port 4711", []string{"bash", "-c", "exec 3<>/dev/tcp/192.0.2.7/4711 && echo hello >&3 && read -t 20 <&3"}, "192.0.2.7"},
	{"curl -X DELETE https://api.github.com/repos/o/r", []string{"curl", "-sS", "--fail", "-m", "20", "-X", "DELETE", "https://api.github.com/repos/o/r"}, "/repos/o/r"},
}

// denial is what the demo reads of a journal's record.
type denial struct {
	ID, Authority, Path, Reason string
}

// unreachable tries to leave, and reads the reasons as the owner of the jail.
func unreachable(ctx context.Context, st *stage, scr *screen) error {
	scr.head("what it cannot reach, and what its owner is told")
	var last string
	before := st.asked()
	for _, a := range attempts {
		_, failed := st.omnijailctl(ctx, nil, append([]string{"exec", "--"}, a.argv...)...)
		d, err := st.denied(ctx, a.what)
		if err != nil {
			return err
		}
		scr.proof(failed != nil && d.ID != "", "%s", a.shown)
		scr.lines(d.Reason, 0)
		if d.ID != "" {
			last = d.ID
		}
	}
	if st.lab != nil {
		scr.proof(st.asked() == before, "nothing of this reached the upstream")
	}
	scr.typed("omnijailctl why "+last, "(by the owner, outside)")
	var text bytes.Buffer
	if errs, err := st.omnijailctl(ctx, &text, "why", last); err != nil {
		return fmt.Errorf("why: %w\n%s", err, errs)
	}
	for line := range strings.Lines(text.String()) {
		scr.lines(line, 9)
	}
	return nil
}

// asked is how many connections the upstream has had.
func (st *stage) asked() int {
	if st.lab == nil {
		return 0
	}
	return st.lab.Connections()
}

// denied is the last refusal in the owner's journal that concerns what.
func (st *stage) denied(ctx context.Context, what string) (last denial, err error) {
	var lines bytes.Buffer
	if errs, err := st.omnijailctl(ctx, &lines, "events", "--denied", "--json"); err != nil {
		return last, fmt.Errorf("events: %w\n%s", err, errs)
	}
	for in := bufio.NewScanner(&lines); in.Scan(); {
		var d denial
		if err := json.Unmarshal(in.Bytes(), &d); err != nil {
			return last, err
		}
		if strings.Contains(d.Authority+d.Path, what) {
			last = d
		}
	}
	return last, nil
}
