package selftest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// readyFD is where a process that is to stay says that it is there.
const readyFD = 3

// Linger is the other thing that the program does inside jails: it leaves a
// process behind, or stays itself, as mode says. It does not return from a mode
// that stays.
func Linger(mode string) error {
	switch mode {
	case "stay", "deaf", "stopped", "busy":
		stay(mode)
	case "victim":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "setsid":
		return leave(1, "stay", &syscall.SysProcAttr{Setsid: true})
	case "background":
		return leave(1, "stay", nil)
	case "twice":
		return leave(1, "setsid", &syscall.SysProcAttr{Setsid: true})
	case "ignoring":
		return leave(1, "deaf", &syscall.SysProcAttr{Setsid: true})
	case "suspended":
		return leave(1, "stopped", &syscall.SysProcAttr{Setsid: true})
	case "many":
		return leave(12, "stay", &syscall.SysProcAttr{Setsid: true})
	case "forks":
		return forks()
	case "memory":
		return eat()
	}
	return fmt.Errorf("there is no mode %q", mode)
}

// leave starts processes that outlive this one, and returns when they are there.
func leave(count int, mode string, how *syscall.SysProcAttr) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	for range count {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		cmd := exec.Command(exe, "probe", "--linger", mode)
		cmd.Stdout, cmd.SysProcAttr, cmd.ExtraFiles = os.Stdout, how, []*os.File{w}
		if err := cmd.Start(); err != nil {
			return err
		}
		w.Close()
		_, err = io.ReadFull(r, make([]byte, 1))
		r.Close()
		if err != nil {
			return fmt.Errorf("the process that was to stay did not come up: %w", err)
		}
	}
	unix.Write(readyFD, []byte{1})
	return nil
}

func stay(how string) {
	if how == "deaf" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	}
	unix.Write(readyFD, []byte{1})
	if how == "stopped" {
		unix.Kill(os.Getpid(), unix.SIGSTOP)
	}
	for how == "busy" {
		unix.Getpid()
	}
	for {
		time.Sleep(time.Hour)
	}
}

// forks starts more processes than a limit of limitedPids lets it.
func forks() error {
	started := 0
	for ; started < 4*limitedPids; started++ {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			break
		}
		if pid == 0 {
			for {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	fmt.Println("started", started)
	return nil
}

// eat uses four times the memory of the limit.
func eat() error {
	b, err := unix.Mmap(-1, 0, 4*limitedMemory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	fmt.Println("had it all")
	return nil
}

// lingerAttempts leave processes behind. A jail is over when its command is, and
// nothing of it lives on.
func lingerAttempts() (out []Attempt) {
	for _, l := range []struct{ name, tries string }{
		{"background", "leave a child behind"},
		{"setsid", "leave a child in a session of its own"},
		{"twice", "leave a grandchild whose parent has ended"},
		{"ignoring", "leave a child that ignores what would end it"},
		{"suspended", "leave a child that is stopped"},
		{"many", "leave a dozen children"},
	} {
		out = append(out, Attempt{
			Name: "linger." + l.name, Tries: l.tries, Must: "it ends with the command", Guarantee: jail.NoTrace,
			drive: func(n *node) Finding {
				ctx, cancel := n.within(ample)
				defer cancel()
				end, silent, err := untilSilent(n.start(ctx, nil, n.self, "probe", "--linger", l.name))
				switch {
				case err != nil:
					return notRun("%v", err)
				case end != 0:
					return notRun("exit %d", end)
				case !silent:
					return succeeded("a process still had the output open %v after the command's end", patience)
				}
				return refused("nothing was left when the command had ended")
			},
		})
	}
	return out
}

// untilSilent runs a command and reports how it ended, and whether everybody who
// had its output had ended too.
func untilSilent(cmd *exec.Cmd) (end int, silent bool, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, false, err
	}
	defer r.Close()
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		return 0, false, err
	}
	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, r)
		close(closed)
	}()
	cmd.Wait()
	select {
	case <-closed:
		silent = true
	case <-time.After(patience):
	}
	return cmd.ProcessState.ExitCode(), silent, nil
}
