package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
)

// cacheNode has two policies with the same words and one that differs, all with
// caches.
func cacheNode(t *testing.T, limits string) *Node {
	t.Helper()
	const caller = "caller: [cwd, read, allow]\n"
	return NewNode(t, Options{NoLab: true, Policy: map[string]string{
		"build": "write_paths: [\".\"]\n" + limits + caller,
		"other": "write_paths: [\".\"]\ndescription: another\n" + limits + caller,
		"none":  "write_paths: [\".\"]\ncache: none\n" + caller,
		"read":  "cache: private\n" + caller,
	}})
}

// under runs a shell line of uid's in a directory under a policy.
func (n *Node) under(t *testing.T, uid uint32, dir, policy, line string, flags ...string) Output {
	t.Helper()
	return n.Run(t, Ctl{UID: uid, Dir: dir, Args: slices.Concat([]string{"exec", "--policy", policy}, flags, []string{"--", "sh", "-c", line})})
}

func (n *Node) caches(t *testing.T, uid uint32) (list []api.Cache) {
	t.Helper()
	o := n.Run(t, Ctl{UID: uid, Args: []string{"--json", "cache", "ls"}}).Want(t, 0)
	if err := json.Unmarshal([]byte(o.Stdout), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

const readPoison = "cat ~/.cache/poison ~/.cargo/registry/poison 2>/dev/null"

func TestCacheIsThereTheNextTime(t *testing.T) {
	n := cacheNode(t, "")
	dir := n.Workspace(t, Alice, map[string]string{"sub/file": "x"})
	fill := `for d in .cache .npm .m2/repository .gradle/caches .cargo/registry .cargo/git go/pkg .nuget/packages .ivy2 .pub-cache; do
		echo $d >~/$d/here || exit 1; done; echo lost >~/other; ls -A ~; ls -A ~/.m2`
	o := n.under(t, Alice, dir, "build", fill).Want(t, 0)
	if strings.Contains(o.Stdout, "here") {
		t.Errorf("the parents are in the cache too:\n%s", o.Stdout)
	}
	o = n.under(t, Alice, dir, "build", "cat ~/.cache/here ~/.m2/repository/here ~/go/pkg/here; ls ~/other").Want(t, 2)
	if o.Stdout != ".cache\n.m2/repository\ngo/pkg\n" {
		t.Errorf("the second command finds %q", o.Stdout)
	}
	t.Run("not where the policy says so", func(t *testing.T) {
		n.under(t, Alice, dir, "none", "test ! -e ~/.cache && test ! -e ~/.npm").Want(t, 0)
	})
	t.Run("with a working directory that is read-only, when asked for", func(t *testing.T) {
		n.under(t, Alice, dir, "read", "echo 1 >~/.cache/here").Want(t, 0)
		n.under(t, Alice, dir, "read", "cat ~/.cache/here && ! touch x").Want(t, 0)
		n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--", "test", "!", "-e", n.Home(t, Alice) + "/.cache"}}).Want(t, 0)
	})
	t.Run("what is granted by name stays as granted", func(t *testing.T) {
		npm := filepath.Join(n.Home(t, Alice), ".npm/_cacache")
		if err := os.MkdirAll(npm, 0o755); err != nil {
			t.Fatal(err)
		}
		n.write(t, strings.TrimPrefix(npm, n.Dir+"/")+"/own", "mine")
		n.under(t, Alice, dir, "build", "cat ~/.npm/_cacache/own && ! touch ~/.npm/_cacache/x && ls ~/.cache", "--read", npm).Want(t, 0)
	})
	t.Run("after a restart", func(t *testing.T) {
		n.Kill(t)
		n.Start(t)
		if o := n.under(t, Alice, dir, "build", "cat ~/.cache/here").Want(t, 0); o.Stdout != ".cache\n" {
			t.Errorf("%q", o.Stdout)
		}
	})
}

// What one jail writes is read by no jail of another policy, workspace or user,
// and by nobody outside.
func TestS28_ACacheIsTiedToItsUserPolicyAndWorkspace(t *testing.T) {
	n := cacheNode(t, "")
	dir := n.Workspace(t, Alice, map[string]string{"sub/file": "x"})
	poison := "echo poison >~/.cache/poison && echo poison >~/.cargo/registry/poison"
	n.under(t, Alice, dir, "build", poison).Want(t, 0)
	if o := n.under(t, Alice, dir, "build", readPoison).Want(t, 0); o.Stdout == "" {
		t.Fatal("its own jail does not have it: the test shows nothing")
	}
	for name, o := range map[string]Output{
		"another policy":              n.under(t, Alice, dir, "other", readPoison),
		"the same with one more rule": n.under(t, Alice, dir, "build", readPoison, "--allow", "GET example.test/**"),
		"another workspace":           n.under(t, Alice, n.Workspace(t, Alice, nil), "build", readPoison),
		"a directory inside, alone":   n.under(t, Alice, filepath.Join(dir, "sub"), "build", readPoison),
		"another user":                n.under(t, Bob, n.Workspace(t, Bob, nil), "build", readPoison),
		"root's jail for the user":    n.Run(t, Ctl{UID: 0, Dir: dir, Args: []string{"exec", "--user", "2001", "--policy", "build", "--", "sh", "-c", readPoison}}),
	} {
		if o.Exit == 0 || o.Exit >= 125 || strings.Contains(o.Stdout, "poison") {
			t.Errorf("%s: %+v", name, o)
		}
	}
	t.Run("nobody enters it by a path", func(t *testing.T) {
		made, err := filepath.Glob(n.Dir + "/state/cache/2001/*/d/.cache")
		if err != nil || len(made) == 0 {
			t.Fatalf("%q, %v", made, err)
		}
		asUser(t, Alice, func() {
			for _, path := range append(made, n.Dir+"/state/cache", n.Dir+"/state/cache/2001") {
				if _, err := os.Stat(path); !os.IsPermission(err) {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	})
	t.Run("no setuid program and no device works in it", func(t *testing.T) {
		o := n.under(t, Alice, dir, "build", "cat /proc/self/mountinfo").Want(t, 0)
		found := 0
		for line := range strings.Lines(o.Stdout) {
			if f := strings.Fields(line); len(f) > 5 && strings.Contains(f[3], "/cache/") {
				found++
				if !strings.Contains(f[5], "nosuid") || !strings.Contains(f[5], "nodev") {
					t.Errorf("%s", line)
				}
			}
		}
		if found != 10 {
			t.Errorf("the mounts of the cache are not there:\n%s", o.Stdout)
		}
	})
}

func TestS14_CachesAreTheirOwners(t *testing.T) {
	n := cacheNode(t, "")
	dir := n.Workspace(t, Alice, nil)
	n.under(t, Alice, dir, "build", "echo 1 >~/.cache/here").Want(t, 0)
	list := n.caches(t, Alice)
	if len(list) != 1 || list[0].Workspace != dir || list[0].Policy != "build" || list[0].UID != Alice || list[0].Used.IsZero() {
		t.Fatalf("%+v", list)
	}
	id, unknown := list[0].ID, strings.Repeat("0", len(list[0].ID))
	if l := n.caches(t, Bob); len(l) != 0 {
		t.Errorf("bob sees %+v", l)
	}
	if l := n.caches(t, 0); len(l) != 1 {
		t.Errorf("root sees %+v", l)
	}
	for _, method := range []string{"GET", "DELETE"} {
		foreign, missing := ask(t, n, Bob, method, "/v1/caches/"+id, ""), ask(t, n, Bob, method, "/v1/caches/"+unknown, "")
		if foreign != missing || foreign.status != 404 {
			t.Errorf("%s: foreign %v, unknown %v", method, foreign, missing)
		}
	}
	for _, bad := range []string{"..", "trash", "%2e%2e%2f0", "x"} {
		if a := ask(t, n, Alice, "DELETE", "/v1/caches/"+bad, ""); a.status/100 == 2 {
			t.Errorf("DELETE %s: %v", bad, a)
		}
	}
	if a := ask(t, n, Bob, "DELETE", "/v1/caches", ""); a.status != 200 || strings.Contains(a.body, id) {
		t.Errorf("bob removes all of his: %v", a)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"cache", "ls"}}).Want(t, 0); !strings.Contains(o.Stdout, id) {
		t.Errorf("alice's is gone: %s", o.Stdout)
	}
	n.Run(t, Ctl{UID: Alice, Args: []string{"cache", "rm", id}}).Want(t, 0)
	n.Run(t, Ctl{UID: Alice, Args: []string{"cache", "rm", id}}).Want(t, 125)
	n.under(t, Alice, dir, "build", "test ! -e ~/.cache/here").Want(t, 0)
}

// holdCache runs a command that keeps its jail until end is called.
func (n *Node) holdCache(t *testing.T, dir, line string) (end func() Output) {
	t.Helper()
	r := n.launch(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "build", "--", "sh", "-c", "echo up; " + line}})
	r.says(t, "up")
	return func() Output {
		r.stdin.Close()
		return r.finish(t)
	}
}

func TestCacheInUseIsNotRemoved(t *testing.T) {
	n := cacheNode(t, "")
	dir := n.Workspace(t, Alice, nil)
	end := n.holdCache(t, dir, "echo 1 >~/.cache/one; read x; cat ~/.cache/two")
	second := n.under(t, Alice, dir, "build", "cat ~/.cache/one && echo 2 >~/.cache/two")
	if second.Want(t, 0).Stdout != "1\n" {
		t.Errorf("the second jail at the same time: %+v", second)
	}
	list := n.caches(t, Alice)
	if len(list) != 1 || !list[0].InUse {
		t.Fatalf("%+v", list)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"cache", "rm", list[0].ID}}).Want(t, 125); !strings.Contains(o.Stderr, "a jail uses it") {
		t.Errorf("%s", o.Stderr)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"cache", "rm", "--all"}}).Want(t, 125); !strings.Contains(o.Stderr, list[0].ID) {
		t.Errorf("%s", o.Stderr)
	}
	if o := end(); !strings.HasSuffix(o.Stdout, "2\n") {
		t.Errorf("the first jail: %+v", o)
	}
	n.Run(t, Ctl{UID: Alice, Args: []string{"cache", "rm", "--all"}}).Want(t, 0)
	if l := n.caches(t, Alice); len(l) != 0 {
		t.Errorf("%+v", l)
	}
}

// A user fills a cache with what a removal could stumble over, and with links to
// what is not in it. The rest of the disk is not touched, nothing stays, and no
// process of root's goes in.
func TestS28_ADiscardedCacheIsRemovedByItsUser(t *testing.T) {
	n := cacheNode(t, "")
	dir := n.Workspace(t, Alice, map[string]string{"keep/file": "x"})
	n.under(t, Alice, dir, "build", `cd ~/.cache && mkdir -p a/b/c closed/in && touch a/b/c/f closed/in/f &&
		ln -s `+dir+`/keep link && ln -s / root && ln -s ../../../../../../etc up && mkfifo fifo && chmod 0 closed/in closed a/b . &&
		cd ~/go/pkg && i=0 && while [ $i -lt 400 ]; do mkdir deep && cd deep && i=$((i+1)); done; chmod 0 ~/go/pkg`).Want(t, 0)
	n.Run(t, Ctl{UID: Alice, Args: []string{"cache", "rm", "--all"}}).Want(t, 0)
	until(t, "the cache is removed", func() bool {
		left, err := os.ReadDir(n.Dir + "/state/cache/2001/trash")
		return err == nil && len(left) == 0
	})
	if _, err := os.Stat(dir + "/keep/file"); err != nil {
		t.Error(err)
	}
	if strings.Contains(n.Log(), "something of a discarded one stays") {
		t.Errorf("the daemon's log:\n%s", n.Log())
	}
}

// The commands of a session have the cache that a jail of one command has there.
func TestASessionHasItsCache(t *testing.T) {
	n := cacheNode(t, "")
	dir := n.Workspace(t, Alice, nil)
	n.under(t, Alice, dir, "build", "echo 1 >~/.cache/one").Want(t, 0)
	made := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"create", "--policy", "build"}}).Want(t, 0)
	id := strings.TrimSpace(made.Stdout)
	n.in(t, id, "cat ~/.cache/one && echo 2 >~/.m2/repository/two").Want(t, 0)
	n.in(t, id, "cat ~/.m2/repository/two").Want(t, 0)
	n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}).Want(t, 0)
	n.under(t, Alice, dir, "build", "cat ~/.m2/repository/two").Want(t, 0)
}

func TestCacheLimit(t *testing.T) {
	n := cacheNode(t, "limits: {cache: 8MiB}\n")
	dir := n.Workspace(t, Alice, nil)
	const fill = "dd if=/dev/zero of=$HOME/.cache/big bs=1M count=24 status=none; "
	t.Run("a jail that fills it is ended", func(t *testing.T) {
		o := n.holdCache(t, dir, fill+"sleep 1000")()
		if o.Exit != 125 || !strings.Contains(o.Stderr, "cache holds more than its limit of 8 MiB\nhint: limits: {cache: 16MiB}\n") {
			t.Errorf("%+v", o)
		}
		if o := n.Run(t, Ctl{UID: Alice, Args: []string{"events", "--since", "1h"}}); !strings.Contains(o.Stdout, "its limit of 8 MiB") {
			t.Errorf("it is not recorded: %s", o.Stdout)
		}
	})
	t.Run("what is over it is emptied before the next start", func(t *testing.T) {
		o := n.under(t, Alice, dir, "build", "test ! -e ~/.cache/big").Want(t, 0)
		if !strings.Contains(o.Stderr, "was emptied") {
			t.Errorf("%s", o.Stderr)
		}
	})
	t.Run("unless another jail has it", func(t *testing.T) {
		end := n.holdCache(t, dir, "read x")
		n.under(t, Alice, dir, "build", fill).Want(t, 0)
		until(t, "its size is known", func() bool { return n.caches(t, Alice)[0].Size > 8<<20 })
		o := n.under(t, Alice, dir, "build", "true").Want(t, 125)
		if !strings.Contains(o.Stderr, "omnijailctl cache rm ") {
			t.Errorf("%s", o.Stderr)
		}
		end()
	})
}

// The cache that was not used for the longest time gives way.
func TestCachesOfAUserGiveWay(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"build": "write_paths: [\".\"]\n"}, Config: map[string]any{
		"access": []any{map[string]any{"groups": []string{"2100"}, "policies": []string{"*"}, "cache": "10MiB"}},
	}})
	var dirs []string
	for range 4 {
		dirs = append(dirs, n.Workspace(t, Alice, nil))
	}
	for i, dir := range dirs[:3] {
		n.under(t, Alice, dir, "build", "dd if=/dev/zero of=$HOME/.cache/big bs=1M count=4 status=none").Want(t, 0)
		until(t, "its size is known", func() bool {
			l := n.caches(t, Alice)
			return len(l) == i+1 && l[0].Workspace == dir && l[0].Size >= 4<<20
		})
	}
	n.under(t, Alice, dirs[3], "build", "true").Want(t, 0)
	var left []string
	for _, c := range n.caches(t, Alice) {
		left = append(left, c.Workspace)
	}
	if !slices.Equal(left, []string{dirs[3], dirs[2], dirs[1]}) {
		t.Errorf("left: %q of %q", left, dirs)
	}
}
