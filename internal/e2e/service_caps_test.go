package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const unitFile = "../../packaging/systemd/omnijaild.service"

// boundingSet is what the shipped unit leaves to the daemon.
func boundingSet(t *testing.T) []string {
	t.Helper()
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(.*)$`).FindSubmatch(unit)
	if found == nil {
		t.Fatal("the unit has no CapabilityBoundingSet")
	}
	return strings.Fields(string(found[1]))
}

// deed is a line of alice's and its exit code.
type deed struct {
	line string
	exit int
}

// deeds need all that the daemon may do.
var deeds = []deed{
	{mainJob, 0},
	{`cd project && set -o pipefail && omnijailctl exec -- sh -c "trap 'exit 7' USR1; echo up; sleep 2 & wait" |
		{ read up && pkill -USR1 -x -u alice omnijailctl; cat; }`, 7}, // the daemon passes the signal on
}

func TestS27_EveryCapabilityIsNeeded(t *testing.T) {
	m := served(t)
	m.logIn(t, "alice")
	m.Types(t, "alice", "chmod 700 . project").Want(t, 0)
	for _, d := range deeds {
		m.Types(t, "alice", d.line).Want(t, d.exit)
	}
	all := boundingSet(t)
	m.Run(t, "mkdir", "-p", "/run/systemd/system/omnijaild.service.d").Want(t, 0)
	for i, name := range all {
		rest := strings.Join(slices.Delete(slices.Clone(all), i, i+1), " ")
		m.Write(t, "/run/systemd/system/omnijaild.service.d/less.conf",
			"[Service]\nRestart=no\nCapabilityBoundingSet=\nCapabilityBoundingSet="+rest+"\n")
		m.Run(t, "systemctl", "daemon-reload").Want(t, 0)
		m.Run(t, "systemctl", "reset-failed").Want(t, 0)
		if m.Run(t, "systemctl", "restart", "omnijaild.socket", "omnijaild.service").Exit != 0 {
			continue // it says why and does not start
		}
		if !slices.ContainsFunc(deeds, func(d deed) bool { return m.Types(t, "alice", d.line).Exit != d.exit }) {
			t.Errorf("%s: nothing fails without it: take it out of the unit", name)
		}
	}
}
