package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// transfers are what goes each way, in MB. CI has enough to tell a body that is
// kept from one that passes through; `make soak` has as much as people have.
func transfers() (push, clone int) {
	if os.Getenv("OMNIJAIL_SOAK") != "" {
		return 500, 1000
	}
	return 20, 20
}

// transferGrowth is what an egress process may grow by, in KiB, whatever passes through
// it; under the race detector with what that notes of each byte.
func transferGrowth() int {
	if os.Getenv(raceVariable) != "" {
		return 32 << 10
	}
	return 16 << 10
}

// A push and a clone pass through the egress process, which never holds more than
// a few buffers of them.
func TestLargeTransfersTakeNoMoreMemory(t *testing.T) {
	t.Parallel()
	push, clone := transfers()
	n, dir := gitNode(t)
	jailed := func(script string) {
		t.Helper()
		cmd := n.Command(t, Ctl{UID: Alice, Dir: dir, Env: []string{"E2E_TOKEN=" + Token},
			Args: []string{"exec", "--policy", "clients", "--", "sh", "-ec", script}})
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	repo, err := n.Lab.AddRepo(t.Context(), "acme/large")
	if err != nil {
		t.Fatal(err)
	}
	fill(t, repo, clone)
	jailed("git clone -q https://github.com/acme/app.git work; cd work; " + blobs(push) + "git -c core.compression=0 add .; git commit -q -m blobs")
	processes := egressOf(t, n)
	if len(processes) != 1 {
		t.Fatalf("egress processes: %v", processes)
	}
	pid := processes[0]
	before := peak(t, pid)

	began := time.Now()
	n.Lab.Forget()
	jailed("cd work; git -c pack.compression=0 -c pack.window=0 push -q origin main")
	seen := n.Lab.Seen()
	if last := seen[len(seen)-1]; last.Body < int64(push)*1e6 {
		t.Errorf("the push had %d bytes", last.Body)
	}
	t.Logf("a push of %d MB took %v; peak of the egress process %d KiB, before %d KiB", push, time.Since(began), peak(t, pid), before)

	began = time.Now()
	jailed("git clone -q --no-checkout https://github.com/acme/large.git large")
	if got := diskUse(t, filepath.Join(dir, "large")); got < int64(clone)*1e6 {
		t.Errorf("the clone has %d bytes", got)
	}
	t.Logf("a clone of %d MB took %v; peak of the egress process %d KiB", clone, time.Since(began), peak(t, pid))
	if grown := peak(t, pid) - before; grown > transferGrowth() {
		t.Errorf("the egress process grew by %d KiB, more than %d", grown, transferGrowth())
	}
}

// blobs is shell that makes size MB of what does not compress, in files of 4 MB.
func blobs(size int) string {
	return fmt.Sprintf("for i in $(seq %d); do head -c 4000000 /dev/urandom > blob$i; done; ", size/4)
}

// fill commits size MB to a bare repository.
func fill(t *testing.T, repo string, size int) {
	t.Helper()
	script := "git clone -q \"$1\" w; cd w; " + blobs(size) + "git -c core.compression=0 add .; git commit -q -m blobs; git -c pack.compression=0 -c pack.window=0 push -q origin main"
	cmd := exec.Command("sh", "-ec", script, "sh", repo)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + cmd.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Lab", "GIT_AUTHOR_EMAIL=lab@example.test",
		"GIT_COMMITTER_NAME=Lab", "GIT_COMMITTER_EMAIL=lab@example.test"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peak is the most that a process has had in memory, in KiB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := highWater.FindSubmatch(b)
	if m == nil {
		t.Fatalf("process %d has no peak", pid)
	}
	kib, _ := strconv.Atoi(string(m[1]))
	return kib
}

// diskUse counts the bytes of the files below dir.
func diskUse(t *testing.T, dir string) (n int64) {
	t.Helper()
	out, err := exec.Command("du", "-sb", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(out), &n); err != nil {
		t.Fatal(err)
	}
	return n
}
