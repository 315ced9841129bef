package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// soak is how often a race is run: often enough to see it lost, and as often as
// the variable says where there is time.
func soak(t testing.TB, usual int) int {
	t.Helper()
	text := os.Getenv("OMNIJAIL_SOAK")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// replace puts a new file in the place of an old one, as editors and git do.
func replace(t testing.TB, path, text string, uid int) {
	t.Helper()
	next := path + ".lock"
	if err := errors.Join(os.WriteFile(next, []byte(text), 0o644), os.Chown(next, uid, uid), os.Rename(next, path)); err != nil {
		t.Fatal(err)
	}
}

// Outside, a file that is protected or hidden in a jail is replaced, which takes
// the mount on it away, while a command in the jail does nothing but try.
func TestS09_AFileReplacedOutsideEndsTheCommand(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", ".git/hooks/x.sample": "", ".env": "SECRET=1\n",
		".vscode/settings.json": "{}\n",
	})
	const script = `echo began
		while :; do
			echo '[core]pwned' >> .git/config; echo pwned >> .env; echo pwned >> .vscode/settings.json
			mkdir .vscode/pwned
		done 2>/dev/null`
	for _, c := range []struct {
		name    string
		file    string // that the reason names
		replace func(t *testing.T)
	}{
		{"git config", ".git/config", func(t *testing.T) { replace(t, filepath.Join(dir, ".git/config"), "[core]\n", Alice) }},
		{".env", ".env", func(t *testing.T) { replace(t, filepath.Join(dir, ".env"), "SECRET=2\n", Alice) }},
		{".env removed", ".env", func(t *testing.T) {
			if err := os.Remove(filepath.Join(dir, ".env")); err != nil {
				t.Fatal(err)
			}
		}},
		{".vscode", ".vscode", func(t *testing.T) {
			p := filepath.Join(dir, ".vscode")
			err := errors.Join(os.RemoveAll(p), os.Mkdir(p, 0o755), os.Chown(p, Alice, Alice))
			if err != nil {
				t.Fatal(err)
			}
			replace(t, filepath.Join(p, "settings.json"), "{}\n", Alice)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range soak(t, 40) / 4 {
				replace(t, filepath.Join(dir, ".env"), "SECRET=1\n", Alice)
				cmd := n.Command(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", ".", "--", "sh", "-c", script}})
				var errs bytes.Buffer
				cmd.Stderr = &errs
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if _, err := out.Read(make([]byte, 16)); err != nil {
					t.Fatalf("the command did not begin: %s", errs.String())
				}
				c.replace(t)
				var exit *exec.ExitError
				if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 125 {
					t.Fatalf("ended with %v\n%s", err, errs.String())
				}
				want := filepath.Join(dir, c.file)
				if !strings.Contains(errs.String(), want+" was replaced outside") && !strings.Contains(errs.String(), want+" (and ") {
					t.Fatalf("the reason does not name %s:\n%s", want, errs.String())
				}
				// A moment before the stop it may have written: that is the stated
				// residue. After its end it has not.
				before := inventory(t, dir)
				n.Exec(t, "--", "true").Want(t, 0)
				if after := inventory(t, dir); after != before {
					t.Fatalf("written after the end:\n%s", after)
				}
			}
		})
	}
}

// The mount tables alone tell, while the scout that watches for names stands still:
// whoever has the caller's uid outside can stop it.
func TestS09_AReplacedFileIsMissedByNobody(t *testing.T) {
	s := newScene(t, killNode(t), 3202)
	s.atWork(t)
	for _, g := range s.live(t) {
		for _, pid := range group(s.groups.dir + "/" + g).members() {
			if strings.HasPrefix(g, "scout-") && hasServed(pid) {
				s.stop(t, mustHold(t, pid))
			}
		}
	}
	if len(s.stopped) == 0 {
		t.Fatal("no scout watches")
	}
	replace(t, filepath.Join(s.ws, ".env"), "SECRET=2\n", int(s.uid))
	s.command.wait(t)
	s.resume(t)
	s.run.finish(t).WantReason(t, filepath.Join(s.ws, ".env")+" was replaced outside")
}
