package trust

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/omnijail/omnijail/internal/jail"
)

// Input is what one jail adds to the node's part.
type Input struct {
	Jail     string // its id, from which its machine-id follows
	CADER    []byte // the jail's CA certificate, opaque; nil where there is no network
	User     jail.User
	Groups   []Group // names for User.GID and User.Groups; others are called g<gid>
	Home     string  // the home directory inside
	Shell    string  // the shell inside
	Git      []jail.GitSetting
	GitHosts []string // hosts whose git@ and ssh:// remotes are rewritten to https
	Policy   []byte   // what the jail may know of its policy: policy.json
	OwnJava  bool     // the command may run a JDK that is not the node's
}

// Group is one line of the group file.
type Group struct {
	Name string
	GID  uint32
}

// Where the jail finds what is its own.
const (
	caFile     = "/run/omnijail/ca.pem"
	bundleFile = "/run/omnijail/bundle.pem"
	policyFile = "/run/omnijail/policy.json"
)

// Compose returns the jail's /etc and /run/omnijail. It fails when a value of in
// cannot stand in the file it belongs to.
func (n *Node) Compose(in Input) (Tree, error) {
	t := Tree{
		Files: make([]File, 0, len(n.tree.Files)+16),
		Links: append(make([]Link, 0, len(n.tree.Links)+8), n.tree.Links...),
		Binds: n.tree.Binds[:len(n.tree.Binds):len(n.tree.Binds)],
	}
	t.Files = append(t.Files, n.tree.Files...)
	passwd, group, err := accounts(in)
	if err != nil {
		return Tree{}, err
	}
	t.file("/etc/passwd", passwd)
	t.file("/etc/group", group)
	t.file("/etc/nsswitch.conf", []byte(nsswitch))
	t.file("/etc/hosts", []byte(hosts))
	t.file("/etc/hostname", []byte(hostname+"\n"))
	t.file("/etc/resolv.conf", []byte(resolvConf))
	t.file("/etc/machine-id", machineID(in.Jail))
	t.file("/etc/gitconfig", gitConfig(in.Git, in.GitHosts))
	t.file(policyFile, in.Policy)
	if err := n.stores(&t, in); err != nil {
		return Tree{}, err
	}
	return t, nil
}

// machineID is the same for every command of a jail, whose id is random: the node's
// own would name the node.
func machineID(id string) []byte {
	sum := sha256.Sum256([]byte("machine-id of jail " + id))
	return append(hex.AppendEncode(nil, sum[:16]), '\n')
}
