package e2e

import (
	"strings"
	"testing"
)

// What is followed since a time begins with what there is, and nothing comes twice.
func TestEventsAreFollowedAfterThePast(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	n.Exec(t, "--", "true").Want(t, 0)
	r := n.launch(t, Ctl{UID: Alice, Args: []string{"events", "--follow", "--since", "1h"}})
	defer func() {
		r.cmd.Process.Kill()
		<-r.done
	}()
	for _, command := range []string{"true", "false"} {
		if command == "false" {
			n.Exec(t, "--", command).Want(t, 1)
		}
		if !r.out.waitFor("exec "+command, r.done) {
			t.Fatalf("%s is missing; stdout:\n%s\nstderr:\n%s", command, r.out.String(), r.errs.String())
		}
	}
	for _, record := range []string{"jail allow true", "exec true", "jail allow false", "exec false"} {
		if strings.Count(r.out.String(), record) != 1 {
			t.Errorf("%q is not there once:\n%s", record, r.out.String())
		}
	}
}
