package e2e

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// TestOneGibibyteThroughAPipeEachWay sends blocks that differ through cat, whose
// two ends are the pipes of the caller.
func TestOneGibibyteThroughAPipeEachWay(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	const size, block = 1 << 30, 1 << 20
	cmd := n.Command(t, Ctl{UID: Alice, Args: []string{"exec", "--", "cat"}})
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, block)
	rand.Read(data)
	go func() {
		for range size / block {
			if _, err := in.Write(data); err != nil {
				break
			}
		}
		in.Close()
	}()
	got := make([]byte, block)
	for i := range size / block {
		if _, err := io.ReadFull(out, got); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("block %d differs: %v", i, err)
		}
	}
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("%d bytes too many, %v", len(rest), err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// shell runs omnijailctl behind redirections of a shell's.
func (n *Node) shell(t *testing.T, dir, redirections string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := n.Command(t, Ctl{UID: Alice, Dir: dir, Args: append([]string{"exec", "--"}, argv...)})
	cmd.Args = append([]string{"bash", "-c", `exec "$0" "$@" ` + redirections, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/bash"
	return cmd
}

func TestEveryKindOfStdio(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"in": "from a file\n", "old": "old\n"})
	for _, c := range []struct {
		name, redirections, script string
		out                        string // on standard output
		file                       string // afterwards in the file "old"
	}{
		{"closed stdin", "<&-", "cat; echo $?", "0\n", ""},
		{"closed stderr", "2>&-", "echo x >&2; echo $?", "0\n", ""},
		{"closed stdout", ">&-", "echo x; echo $? >&2", "", ""},
		{"all closed", "<&- >&- 2>&-", "cat; echo x; echo y >&2", "", ""},
		{"stdin a file", "< in", "cat", "from a file\n", ""},
		{"stdin a file, read in part", "< in", "head -c 4", "from", ""},
		{"stdin a here-document", "<<< text", "cat", "text\n", ""},
		{"stdout a file", "> old", "echo new", "", "new\n"},
		{"stdout a file to append to", ">> old", "echo more", "", "new\nmore\n"},
		{"stdout and stderr one file", "> old 2>&1", "echo a; echo b >&2; echo c", "", "a\nb\nc\n"},
		{"/dev/null", "< /dev/null 2> /dev/null", "cat; echo x >&2; echo done", "done\n", ""},
		{"stdin a process substitution", "< <(echo sub)", "cat", "sub\n", ""},
		{"by the names in /dev", "< <(echo in) > >(cat) 2> >(cat >&2)", "echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin", "out\nin\n", ""},
		{"a command that does not read", "< <(yes)", "echo over", "over\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := n.shell(t, dir, c.redirections, "sh", "-c", c.script)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || out.String() != c.out {
				t.Errorf("stdout %q, %v, want %q\nstderr: %s", out.String(), err, c.out, errs.String())
			}
			if b, err := os.ReadFile(filepath.Join(dir, "old")); c.file != "" && string(b) != c.file {
				t.Errorf("the file holds %q, %v, want %q", b, err, c.file)
			}
		})
	}
}

// A file of the caller's is copied through a pipe: reopened through /proc it
// would give more than it was opened for.
func TestS02_AFileAsStdioCannotBeReopened(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"log": "kept\n"})
	cmd := n.shell(t, dir, ">> log", "sh", "-c", ": > /proc/self/fd/1; readlink /proc/self/fd/1 >&2")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "log")); string(b) != "kept\n" || !strings.Contains(errs.String(), "pipe:") {
		t.Errorf("the file holds %q; stderr: %s", b, errs.String())
	}
}

// The terminal on standard error of "echo x | omnijailctl exec -- cmd" is the
// one on which a password is typed next.
func TestS02_ATerminalOnStderrIsNotGiven(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if _, err := master.WriteString("my-sudo-password\n"); err != nil {
		t.Fatal(err)
	}
	cmd := n.Command(t, Ctl{UID: Alice, Stdin: strings.NewReader("x\n"), Args: []string{"exec", "--", "bash", "-c",
		`for i in 0 1 2; do [ -t $i ] && echo terminal $i; done; cat <&2 2>/dev/null; cat /dev/tty 2>/dev/null; echo visible >&2; echo end`}})
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, slave
	if err := cmd.Run(); err != nil || out.String() != "end\n" {
		t.Errorf("the jail read %q, %v", out.String(), err)
	}
	// The echo of what was typed comes first, and need not come in one piece.
	slave.Close()
	shown, _ := io.ReadAll(master) // ends with EIO: no slave is open
	if !strings.Contains(string(shown), "visible") {
		t.Errorf("on the terminal: %q", shown)
	}
}

// halfClosed answers when it has read all that comes, ends its own side, and reads on.
const halfClosed = `import os, socket, sys
s = socket.socket(fileno=0)
def read(until):
    got = b""
    while not got.endswith(until):
        more = s.recv(100)
        if not more: break
        got += more
    return got
s.sendall(b"first " + read(b"\n"))
s.shutdown(socket.SHUT_WR)
sys.stderr.write("then %r\n" % read(b"never"))
`

// Each side of a donated stream can say that it has no more to say, and still hear.
func TestHalfCloseIsKept(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	near := os.NewFile(uintptr(pair[0]), "ours")
	ours, err := net.FileConn(near)
	near.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	cmd := n.Command(t, Ctl{UID: Alice, Args: append([]string{"exec", "--"}, "python3", "-c", halfClosed)})
	var errs syncBuffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	ours.SetDeadline(time.Now().Add(hang))
	if _, err := ours.Write([]byte("question\n")); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(ours) // ends with the command's side
	if err != nil || string(answer) != "first question\n" {
		t.Errorf("answered %q, %v\n%s", answer, err, errs.String())
	}
	if _, err := ours.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if err := ours.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(errs.String(), "then b'more'") {
		t.Errorf("%v: %s", err, errs.String())
	}
}
