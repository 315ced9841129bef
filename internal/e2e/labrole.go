package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

// roleVariable makes the test's own binary the lab of a machine, in whose network
// the lab of a Node could not be reached.
const roleVariable = "OMNIJAIL_E2E_ROLE"

// labHello is the first line that a machine's lab prints.
type labHello struct {
	HTTPS string
	CA    string
}

// playLab serves until its standard input ends. For each line there it prints
// what the upstream has seen so far.
func playLab(in io.Reader, out io.Writer) error {
	u, err := lab.NewUpstream(context.Background(), lab.Options{Token: Token, Login: "octocat"})
	if err != nil {
		return err
	}
	defer u.Close()
	enc := json.NewEncoder(out)
	if err := enc.Encode(labHello{u.HTTPS().String(), string(u.CA())}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := enc.Encode(u.Seen()); err != nil {
			return err
		}
	}
	return nil
}

// MachineLab is an upstream inside a Machine.
type MachineLab struct {
	labHello
	in  io.Writer
	out *json.Decoder
}

// labProgram is where AddLab puts the test's binary.
const labProgram = "/usr/local/bin/e2e-lab"

// AddLab puts the lab's program into a machine's layer.
func AddLab(t testing.TB, layer string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("install", "-D", "-m", "0755", self, layer+labProgram).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// StartLab starts the upstream in m; it ends with the test.
func (m *Machine) StartLab(t testing.TB) *MachineLab {
	t.Helper()
	cmd := m.Command(context.Background(), roleVariable+"=lab", labProgram)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	l := &MachineLab{in: in, out: json.NewDecoder(out)}
	if err := l.out.Decode(&l.labHello); err != nil {
		t.Fatalf("the lab does not start: %v", err)
	}
	return l
}

// Seen is what the upstream has seen so far.
func (l *MachineLab) Seen(t testing.TB) (seen []lab.Seen) {
	t.Helper()
	if _, err := io.WriteString(l.in, "\n"); err != nil {
		t.Fatal(err)
	}
	if err := l.out.Decode(&seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

// Config is what omnijaild.yaml needs to send GitHub's names to the lab.
func (l *MachineLab) Config(caFile string) string {
	var hosts strings.Builder
	for _, name := range LabNames {
		fmt.Fprintf(&hosts, "    %s: %s\n", name, l.HTTPS)
	}
	return "upstream:\n  ca_files: [" + caFile + "]\n  hosts:\n" + hosts.String()
}
