package peercred

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Self is what the daemon compares a peer with.
type Self struct {
	spaces [3]string // as in namespaces
	root   string
	status status
}

// namespaces are the ones that decide what a process sees of files, users and
// processes.
var namespaces = [3]string{"user", "mnt", "pid"}

// Myself reads what Confined needs of the calling process.
func Myself() (Self, error) {
	s, err := look(os.Getpid())
	if err != nil {
		return Self{}, fmt.Errorf("look at this process: %w", err)
	}
	return s, nil
}

// Confined returns why the peer counts as being in a sandbox of its own, or the
// empty string. Such a peer may have been kept from files that our daemon would
// open for it. An error, ErrGone among them, means that nobody can tell: refuse.
func Confined(c Caller, self Self) (reason string, err error) {
	if err := c.alive(); err != nil {
		return "", err
	}
	peer, err := look(c.pid)
	if err != nil {
		return "", fmt.Errorf("look at the peer: %w", err)
	}
	// Still alive: so all that was read by its pid was about it.
	if err := c.alive(); err != nil {
		return "", err
	}
	for i := range namespaces {
		if peer.spaces[i] != self.spaces[i] {
			return "it runs in a " + spaceNames[i] + " namespace of its own", nil
		}
	}
	switch {
	case peer.root != self.root:
		return "it runs under another root directory", nil
	case peer.status.noNewPrivs && !self.status.noNewPrivs:
		return "it runs with no_new_privs, as sandboxes set it", nil
	case peer.status.filters > self.status.filters:
		return "it runs under a seccomp filter", nil
	case !unconfinedLabel(c.label):
		return "it runs under the security label " + strconv.QuoteToASCII(c.label), nil
	}
	return "", nil
}

var spaceNames = [3]string{"user", "mount", "pid"}

// unconfinedLabel knows how AppArmor and SELinux spell "no rules of mine".
func unconfinedLabel(label string) bool {
	if label == "" || label == "unconfined" || strings.HasSuffix(label, " (unconfined)") {
		return true
	}
	f := strings.Split(label, ":")
	return len(f) >= 3 && (f[2] == "unconfined_t" || f[2] == "unconfined_service_t")
}

// look reads a process by its pid. Every name here is read as the text of a link,
// so that no file system of the process's own is asked.
func look(pid int) (s Self, err error) {
	dir := "/proc/" + strconv.Itoa(pid)
	for i, ns := range namespaces {
		if s.spaces[i], err = os.Readlink(dir + "/ns/" + ns); err != nil {
			return s, err
		}
	}
	if s.root, err = os.Readlink(dir + "/root"); err != nil {
		return s, err
	}
	s.status, err = readStatus(pid)
	return s, err
}

// status is what /proc/PID/status says of confinement.
type status struct {
	uid        uint32 // effective
	noNewPrivs bool
	filters    int // seccomp filters; 1 where the kernel only says that there are some
}

func readStatus(pid int) (status, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if errors.Is(err, os.ErrNotExist) {
		return status{}, ErrGone
	}
	if err != nil {
		return status{}, err
	}
	return parseStatus(text)
}

func parseStatus(text []byte) (s status, err error) {
	mode, counted, seen := 0, false, 0
	for line := range bytes.Lines(text) {
		key, value, _ := strings.Cut(string(line), ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		switch key {
		case "Uid":
			if len(f) < 2 {
				return s, errors.New("malformed Uid line in status")
			}
			var n uint64
			n, err = strconv.ParseUint(f[1], 10, 32)
			s.uid = uint32(n)
			seen++
		case "NoNewPrivs":
			s.noNewPrivs = f[0] != "0"
			seen++
		case "Seccomp":
			mode, err = strconv.Atoi(f[0])
			seen++
		case "Seccomp_filters":
			s.filters, err = strconv.Atoi(f[0])
			counted = true
		}
		if err != nil {
			return s, fmt.Errorf("malformed status: %w", err)
		}
	}
	if seen != 3 {
		return s, errors.New("status lacks Uid, NoNewPrivs or Seccomp")
	}
	if !counted && mode != 0 {
		s.filters = 1
	}
	return s, nil
}
