package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestMain lets the test binary be omnijailctl, when it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "omnijailctl" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// person is a home, a project directory and a PATH that has omnijailctl.
type person struct {
	work string
	env  []string
}

func newPerson(t testing.TB) *person {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "home", "project"} {
		if err := os.Mkdir(filepath.Join(work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, work+"/bin/omnijailctl"); err != nil {
		t.Fatal(err)
	}
	return &person{work, []string{
		"PATH=" + work + "/bin:/usr/bin:/bin", "HOME=" + work + "/home", "LANG=C.UTF-8", "OMNIJAIL_SOCKET=" + work + "/none/s",
	}}
}

// shell returns a command in the project directory. What the operator of this
// machine has installed is out of sight.
func (p *person) shell(command string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", command)
	if _, err := os.Stat("/etc/omnijail"); err == nil {
		cmd = exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs none /etc/omnijail && exec sh -c "$0"`, command)
	}
	cmd.Dir = p.work + "/project"
	cmd.Env = p.env
	return cmd
}

// Each transcript says in its first lines what it shows, and then what a person
// types and sees, standard error included.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if got == string(want) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s does not hold (-update rewrites it); now:\n%s", file, firstDifference(string(want), got))
		})
	}
}

func replay(t *testing.T, transcript string) string {
	p := newPerson(t)
	var out strings.Builder
	commands := false
	for line := range strings.Lines(transcript) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			if !commands {
				out.WriteString(line)
			}
			continue
		}
		if commands {
			out.WriteString("\n")
		}
		commands = true
		fmt.Fprintf(&out, "%s%s", line, p.typed(t, strings.TrimSuffix(command, "\n")))
	}
	return out.String()
}

// typed returns what the command prints and, unless it is 0, how it exits.
func (p *person) typed(t *testing.T, command string) string {
	var out bytes.Buffer
	cmd := p.shell(command)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		fmt.Fprintf(&out, "[exit %d]\n", exit.ExitCode())
	} else if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(p.work, "WORK", time.Now().Format("2 January 2006"), "TODAY").Replace(out.String())
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			return fmt.Sprintf("line %d\n%s", i+1, strings.Join(b[i:min(len(b), i+12)], "\n"))
		}
	}
	return fmt.Sprintf("it ends at line %d", len(b))
}
