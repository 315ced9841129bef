package selftest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// furniture is what the workspace holds, by name.
var furniture = map[string]string{
	plainFile:          "of the workspace\n",
	hiddenFile:         Marker + "\n",
	gitConfig:          "[core]\n\trepositoryformatversion = 0\n",
	".git/HEAD":        "ref: refs/heads/main\n",
	".git/objects/.in": "",
	".git/refs/.in":    "",
	".git/hooks/.in":   "",
}

// furnish makes what the workspace lacks of its furniture.
func furnish(dir string) error {
	for name, text := range furniture {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	os.Remove(filepath.Join(dir, gitHook))
	return nil
}

// plant makes a world around a new workspace. What it returns has to be razed,
// after an error too.
func plant(ctx context.Context, config Config) (*node, error) {
	n := &node{base: ctx, config: config}
	n.start, n.give = n.inJail, n.takes
	return n, errors.Join(n.files(), n.sockets(), n.memory(), n.victim(), n.surroundings())
}

func (n *node) files() (err error) {
	if n.dir, err = os.MkdirTemp("", "omnijail-selftest-"); err != nil {
		return err
	}
	if n.dir, err = filepath.EvalSymlinks(n.dir); err != nil {
		return err
	}
	n.undo = append(n.undo, func() { os.RemoveAll(n.dir) })
	n.work, n.secret = filepath.Join(n.dir, "work"), "selftest_"+rand.Text()
	sum := sha256.Sum256([]byte(n.secret))
	n.site = Site{
		Dir: n.work, Secret: filepath.Join(n.dir, "secret"), Names: true, TokenSum: hex.EncodeToString(sum[:]),
		Control: n.config.Socket, Upstream: n.config.Upstream, Backend: n.config.Backend,
	}
	n.policy = n.config.Policy
	if n.policy == "" {
		n.policy = filepath.Join(n.dir, "policy.yaml")
	}
	planted := filepath.Join(n.dir, "planted")
	err = errors.Join(os.Mkdir(n.work, 0o755), os.Mkdir(planted, 0o755), furnish(n.work),
		os.WriteFile(filepath.Join(planted, ".omnijail.yaml"), []byte("write_paths: [\".\"]\n"), 0o644),
		os.WriteFile(n.site.Secret, []byte(Marker+"\n"), 0o600),
		os.WriteFile(filepath.Join(n.dir, "policy.yaml"), []byte(Policy(n.config.Upstream)), 0o644))
	return errors.Join(err, n.program(), n.own())
}

// program makes the running program visible in jails: what is below /usr is
// there already, anything else is copied into the workspace.
func (n *node) program() error {
	path, err := filepath.EvalSymlinks(n.config.Program)
	if err != nil {
		return err
	}
	if strings.HasPrefix(path, "/usr/") {
		n.self = path
		return nil
	}
	n.self = filepath.Join(n.work, "omnijailctl")
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(n.self, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// own gives everything to the user that jails run as, when that is not the
// caller.
func (n *node) own() error {
	if n.config.UID == 0 {
		return nil
	}
	return filepath.WalkDir(n.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, n.config.UID, n.config.GID)
	})
}

// surroundings says what the node has of what attempts look for.
func (n *node) surroundings() error {
	if home, err := os.UserHomeDir(); err == nil {
		n.site.Home = home
		if entries, err := os.ReadDir(home); err == nil && len(entries) > 0 {
			n.site.HomeEntry = entries[0].Name()
		}
	}
	var st unix.Stat_t
	if unix.Stat("/dev/pts", &st) == nil {
		n.site.Terminals = uint64(st.Dev)
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range list {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			n.site.Addrs = append(n.site.Addrs, ip.IP.String())
		}
	}
	for _, a := range All() {
		if _, err := os.Lstat(a.needs); a.needs != "" && err != nil {
			n.site.Absent = append(n.site.Absent, a.needs)
		}
	}
	return nil
}

// raze ends and removes everything that was planted.
func (n *node) raze() {
	for i := len(n.undo) - 1; i >= 0; i-- {
		n.undo[i]()
	}
}
