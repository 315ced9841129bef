package e2e

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// journalFlood makes requests of both kinds, each with a path of its own, until it
// has been told to slow down and then that there is no room for its records, and at
// least for so many seconds. It prints the codes of the refusals that it got.
const journalFlood = `
import http.client, ssl, sys, threading, time
until, codes = time.monotonic() + float(sys.argv[1]), set()
ctx = ssl.create_default_context(cafile='/run/omnijail/ca.pem')
def over(): return time.monotonic() > until and {'flood', 'audit_unavailable'} <= codes
def flood(kind, n):
    i = 0
    while not over():
        c = http.client.HTTPSConnection('example.test', context=ctx, timeout=20)
        try:
            while not over():
                i += 1
                c.request('GET', '/%s/%d/%d' % (kind, n, i))
                r = c.getresponse()
                r.read()
                codes.add(r.getheader('X-Omnijail-Code', 'none'))
        except (OSError, http.client.HTTPException): pass
threads = [threading.Thread(target=flood, args=(kind, n)) for kind in ('ok', 'denied') for n in range(2)]
for t in threads: t.start()
print('under way', flush=True)
for t in threads: t.join()
print(' '.join(sorted(codes)))
`

// journalSpace is the size of the journal's file system, what of it is root's, and how
// long it is flooded: in a soak what people have, else less.
func journalSpace() (size, reserve, seconds string) {
	if os.Getenv("OMNIJAIL_SOAK") != "" {
		return "64M", "16MiB", "60"
	}
	return "4M", "1MiB", "0"
}

// S22: on a small file system a jail floods the journal. It is told to slow down, and
// in the end refused; its first record stays; another user is served all the while
// and afterwards; and what root does has its place still.
func TestS22_AFloodOfTheJournalIsItsOwnUsers(t *testing.T) {
	t.Parallel()
	size, reserve, seconds := journalSpace()
	state, err := os.MkdirTemp("", "oj-journal-")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("journal", state, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Unmount(state, 0)
		os.Remove(state)
	})
	n := NewNode(t, Options{Config: map[string]any{"state_dir": state, "audit": map[string]any{"rotate": "1MiB", "reserve": reserve}}})
	attacker := n.create(t, "--allow", "GET example.test/ok/**")
	first := strings.TrimSpace(n.in(t, attacker, `curl -s -o /dev/null -D - https://example.test/first | tr -d '\r' | sed -n 's/^x-omnijail-id: //Ip'`).Want(t, 0).Stdout)

	r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", attacker, "--", "python3", "-c", journalFlood, seconds}})
	r.says(t, "under way\n")
	another := func() {
		t.Helper()
		n.Run(t, Ctl{UID: Bob, Args: []string{"exec", "--allow", "GET example.test/status", "--", "curl", "-sSf", "https://example.test/status?code=200"}}).Want(t, 0)
	}
	served := 0
	for !strings.Contains(r.out.String(), "audit_unavailable") {
		another()
		served++
	}
	r.finish(t)
	if got := r.out.String(); got != "under way\naudit_unavailable flood no_rule none\n" {
		t.Errorf("the flood got %q", got)
	}
	t.Logf("the other user was served %d times meanwhile", served)
	another()
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"why", first}}).Want(t, 0); !strings.Contains(o.Stdout, "example.test/first") {
		t.Errorf("the first record, %q: %s%s", first, o.Stdout, o.Stderr)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--allow", "GET example.test/ok/**", "--", "true"}}); o.Exit != 125 || !strings.Contains(o.Stderr, "audit") {
		t.Errorf("the flooding user starts another jail: exit %d, %s", o.Exit, o.Stderr)
	}
	n.Run(t, Ctl{UID: 0, Args: []string{"audit", "verify", state + "/audit.jsonl"}}).Want(t, 0)
}
