package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// BwrapOptions are the options that the backend uses. They are looked for in
// --help: distributions add and remove some without a new version.
var BwrapOptions = []string{
	"--args", "--json-status-fd", "--die-with-parent",
	"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--hostname",
	"--cap-drop", "--cap-add", "--seccomp",
	"--dir", "--proc", "--ro-bind", "--dev-bind", "--chdir",
}

// answersWithin bounds one run of bwrap.
const answersWithin = 5 * time.Second

const installBwrap = "sudo apt install bubblewrap"

func bubblewrap(ctx context.Context, path string) []Fact {
	if err := rootOwned(path); err != nil {
		fix := installBwrap + ", or bwrap: or backend: " + Alone + " in the daemon's configuration"
		if errors.Is(err, errOwner) {
			fix = "chown root and chmod go-w what is named"
		}
		return []Fact{
			{Name: Bwrap, Answer: No, Detail: err.Error(), Fix: fix},
			{Name: BwrapUsable, Detail: "no bwrap to ask", Fix: fix},
		}
	}
	version, err := output(ctx, path, "--version")
	if err != nil {
		return []Fact{unknown(Bwrap, err, installBwrap), unknown(BwrapUsable, err, installBwrap)}
	}
	help, err := output(ctx, path, "--help")
	if err != nil {
		return []Fact{{Name: Bwrap, Answer: Yes, Detail: path}, unknown(BwrapUsable, err, installBwrap)}
	}
	name := fmt.Sprintf("%s (%s)", path, firstLine(version))
	return []Fact{{Name: Bwrap, Answer: Yes, Detail: name}, bwrapOptions(name, help)}
}

func bwrapOptions(name, help string) Fact {
	offered := strings.Fields(help)
	lacking := slices.DeleteFunc(slices.Clone(BwrapOptions), func(o string) bool { return slices.Contains(offered, o) })
	if len(lacking) > 0 {
		return Fact{Name: BwrapUsable, Answer: No, Detail: fmt.Sprintf("%s has no %s", name, strings.Join(lacking, " ")),
			Fix: "sudo apt install --only-upgrade bubblewrap"}
	}
	return Fact{Name: BwrapUsable, Answer: Yes, Detail: "every option that is used"}
}

var errOwner = errors.New("must belong to root and be writable by root alone")

// rootOwned checks that nobody but root can change what is at path: the program
// runs with root's privilege.
func rootOwned(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not an absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for p := real; ; p = filepath.Dir(p) {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		if info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s %w", p, errOwner)
		}
		if p == real && (!info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0) {
			return fmt.Errorf("%s is not a program", p)
		}
		if p == "/" {
			return nil
		}
	}
}

// maxOutput bounds what is read of a program's answer, in bytes.
const maxOutput = 64 << 10

// output runs the program with an empty environment and returns what it prints.
func output(ctx context.Context, path string, arg string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, arg)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.WaitDelay = 100 * time.Millisecond // a child of its own may hold the pipe
	cmd.Stdout = &capped{buf: &out, left: maxOutput}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w", path, arg, errors.Join(err, ctx.Err()))
	}
	return out.String(), nil
}

// capped keeps the beginning of what is written to it.
type capped struct {
	buf  *bytes.Buffer
	left int
}

func (c *capped) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	c.left -= n
	c.buf.Write(b[:n])
	return len(b), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}
