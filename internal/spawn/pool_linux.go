package spawn

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Options says where a command starts.
type Options struct {
	Netns  *os.File                               // network namespace; nil keeps the node's
	Cgroup *os.File                               // directory of a cgroup v2; nil starts in the daemon's own
	Enter  func() (leave func() error, err error) // moves the thread into v1 cgroups and back; nil stays
	Kept   *os.File                               // mount namespace from Keep that Clone runs in, before Stage; nil for none
	Clone  func() error                           // takes what Stage needs of Kept
	Stage  func() error                           // runs on the spawner thread in a private mount namespace; nil keeps the node's mounts
}

// Pool is a set of spawner threads.
type Pool struct {
	jobs    chan job
	devNull *os.File
	home    namespaces
}

type job struct {
	cmd   *jail.Cmd // nil for a visit
	opts  Options
	jail  *os.File // pidfd of who is visited
	do    func() error
	reply chan<- result
}

type result struct {
	process *Process
	err     error
}

// New starts n spawner threads. They live until the process ends: a thread that
// ended would take the jails it started with it.
func New(n int) (*Pool, error) {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	home, err := openNamespaces()
	if err != nil {
		null.Close()
		return nil, err
	}
	p := &Pool{jobs: make(chan job), devNull: null, home: home}
	for range n {
		if err := p.addThread(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Start starts cmd and closes what was donated to it, whatever the outcome. It
// blocks while all threads are busy.
func (p *Pool) Start(cmd *jail.Cmd, o Options) (*Process, error) {
	defer cmd.Close()
	if cmd.Exe == nil || len(cmd.Args) == 0 {
		return nil, errors.New("start jail: no executable")
	}
	reply := make(chan result, 1)
	p.jobs <- job{cmd: cmd, opts: o, reply: reply}
	r := <-reply
	if r.err != nil {
		return nil, fmt.Errorf("start jail: %w", r.err)
	}
	return r.process, nil
}

// Visit runs do on a spawner thread in the mount namespace of the process that pidfd
// names, with that namespace's root as its own. It blocks while all threads are busy.
func (p *Pool) Visit(pidfd *os.File, do func() error) error {
	reply := make(chan result, 1)
	p.jobs <- job{jail: pidfd, do: do, reply: reply}
	return (<-reply).err
}

// LimitCore sets the process's core limit to exactly 1 byte, the value at which
// the kernel does not start a piped core handler as root outside; 0 would start
// it. It fails where the inherited hard limit is 0 and cannot be raised.
func LimitCore() error {
	one := unix.Rlimit{Cur: 1, Max: 1}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &one); err != nil {
		return fmt.Errorf("set the core limit to 1 (LimitCORE=1 in the unit does it): %w", err)
	}
	return nil
}
