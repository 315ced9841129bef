package trust

import (
	"bytes"
	"fmt"
	"strings"
)

const hostname = "omnijail"

const nsswitch = `passwd: files
group: files
shadow: files
hosts: files dns
networks: files
protocols: files
services: files
rpc: files
ethers: files
netgroup: files
`

const hosts = `127.0.0.1 localhost ` + hostname + `
::1 localhost ip6-localhost ip6-loopback
`

// resolvConf names an address for documentation: inside, every address leads to
// the jail's own stub. It answers at once, so one attempt is enough.
const resolvConf = `nameserver 192.0.2.53
options timeout:5 attempts:1
`

const overflowID = 65534

// accounts returns the passwd and group files: root, nobody and the caller.
func accounts(in Input) (passwd, group []byte, err error) {
	u := in.User
	name := accountName(u.Name, "u", u.UID)
	for what, s := range map[string]string{"home": in.Home, "shell": in.Shell} {
		if strings.ContainsAny(s, ":\n\x00") || !strings.HasPrefix(s, "/") {
			return nil, nil, fmt.Errorf("%s directory or file %.64q cannot stand in /etc/passwd: it must be absolute, without a colon or a line break", what, s)
		}
	}
	var p, g bytes.Buffer
	fmt.Fprintf(&p, "root:x:0:0:root:/root:/usr/sbin/nologin\n")
	fmt.Fprintf(&p, "%s:x:%d:%d::%s:%s\n", name, u.UID, u.GID, in.Home, in.Shell)
	fmt.Fprintf(&p, "nobody:x:%d:%d:nobody:/nonexistent:/usr/sbin/nologin\n", overflowID, overflowID)

	fmt.Fprintf(&g, "root:x:0:\n")
	fmt.Fprintf(&g, "%s:x:%d:\n", groupName(in.Groups, u.GID), u.GID)
	for _, gid := range u.Groups {
		if gid != u.GID {
			fmt.Fprintf(&g, "%s:x:%d:%s\n", groupName(in.Groups, gid), gid, name)
		}
	}
	fmt.Fprintf(&g, "nogroup:x:%d:\n", overflowID)
	return p.Bytes(), g.Bytes(), nil
}

func groupName(names []Group, gid uint32) string {
	for _, n := range names {
		if n.GID == gid {
			return accountName(n.Name, "g", gid)
		}
	}
	return accountName("", "g", gid)
}

// accountName returns name if it can stand in the files and means nobody else.
func accountName(name, letter string, id uint32) string {
	ok := name != "" && len(name) <= 32 && name != "root" && name != "nobody" && name != "nogroup" && name[0] != '-'
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-", c) >= 0)
	}
	if ok {
		return name
	}
	return fmt.Sprintf("%s%d", letter, id)
}
