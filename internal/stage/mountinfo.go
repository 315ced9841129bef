package stage

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// ungrantable are file systems whose files command the kernel. Binding one into
// a jail would give away what the jail's own /proc hides.
var ungrantable = map[string]bool{
	"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "debugfs": true, "tracefs": true,
	"bpf": true, "devtmpfs": true, "securityfs": true, "configfs": true, "efivarfs": true, "fusectl": true,
	"pstore": true, "binfmt_misc": true, "nsfs": true, "selinuxfs": true, "smackfs": true, "devpts": true,
}

// mountPoint is one line of mountinfo.
type mountPoint struct {
	path    string
	options string
	fstype  string
}

var errMountinfo = errors.New("mountinfo is not in the form this build knows")

// parseMountinfo reads the kernel's table: id parent dev root point options
// [fields…] - type source options. Spaces and the like are octal in it.
func parseMountinfo(b []byte) ([]mountPoint, error) {
	var out []mountPoint
	for line := range bytes.Lines(b) {
		before, after, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		fields := strings.Split(before, " ")
		if !ok || len(fields) < 6 {
			return nil, errMountinfo
		}
		fstype, _, _ := strings.Cut(after, " ")
		path, err := unescape(fields[4])
		if err != nil {
			return nil, err
		}
		out = append(out, mountPoint{path: path, options: fields[5], fstype: fstype})
	}
	return out, nil
}

// unescape undoes \ooo.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i+4 > len(s) {
			return "", errMountinfo
		}
		n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
		if err != nil {
			return "", errMountinfo
		}
		b.WriteByte(byte(n))
		i += 3
	}
	return b.String(), nil
}

// inspect looks at what is mounted by now, with everything that came along
// below a grant: the source tree may have had mounts of any kind in it.
// root is where the jail's root is in the table, "" for "/".
func inspect(mounts []mountPoint, root string, grants []jail.OpenGrant) error {
	for _, m := range mounts {
		inside, ok := strings.CutPrefix(m.path, root)
		if !ok || inside != "" && inside[0] != '/' {
			continue
		}
		options := "," + m.options + ","
		if !strings.Contains(options, ",nosuid,") {
			return fmt.Errorf("internal error: the mount at %s is not nosuid", inside)
		}
		if !jail.Within("/dev", inside) && !strings.Contains(options, ",nodev,") {
			return fmt.Errorf("internal error: the mount at %s is not nodev", inside)
		}
		for _, g := range grants {
			if jail.Within(g.Path, inside) && ungrantable[m.fstype] {
				return fmt.Errorf("%s cannot be granted: a file system of type %s is mounted at %s; grant directories beside it", g.Path, m.fstype, inside)
			}
		}
	}
	return nil
}
