package scout

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// mount is one line of mountinfo.
type mount struct {
	dev    string // "8:1": the file system, also where stat's device differs (btrfs)
	root   string // what of the file system is mounted, as a path within it
	point  string // where
	fstype string
}

// mounts are the mounts of this namespace by id.
type mounts map[uint64]mount

// parseMounts reads the text of /proc/self/mountinfo.
func parseMounts(text []byte) (mounts, error) {
	ms := mounts{}
	for line := range bytes.Lines(text) {
		id, m, err := parseMount(string(bytes.TrimSuffix(line, []byte("\n"))))
		if err != nil {
			return nil, fmt.Errorf("mountinfo: %w", err)
		}
		ms[id] = m
	}
	return ms, nil
}

func parseMount(line string) (uint64, mount, error) {
	left, right, ok := strings.Cut(line, " - ")
	f := strings.Split(left, " ")
	fstype, _, more := strings.Cut(right, " ")
	if !ok || !more || len(f) < 6 {
		return 0, mount{}, fmt.Errorf("malformed line %.200q", line)
	}
	id, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		return 0, mount{}, err
	}
	return id, mount{dev: f[2], root: unescapeOctal(f[3]), point: unescapeOctal(f[4]), fstype: fstype}, nil
}

// unescapeOctal undoes the kernel's \040 for blanks and backslashes.
func unescapeOctal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ungrantable are the file systems whose files are doors into the kernel.
var ungrantable = map[string]bool{
	"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "cpuset": true, "debugfs": true,
	"tracefs": true, "bpf": true, "devtmpfs": true, "devpts": true, "securityfs": true, "configfs": true,
	"efivarfs": true, "binfmt_misc": true, "mqueue": true, "nsfs": true, "pstore": true, "selinuxfs": true,
	"smackfs": true, "fusectl": true, "resctrl": true, "rpc_pipefs": true, "nfsd": true, "autofs": true,
}

// local are the file systems on which an open regular file can be donated: known
// ones, whose reads end without another process or machine.
var local = map[string]bool{
	"ext2": true, "ext3": true, "ext4": true, "xfs": true, "btrfs": true, "tmpfs": true, "ramfs": true,
	"overlay": true, "f2fs": true, "zfs": true, "bcachefs": true, "jfs": true, "reiserfs": true,
	"nilfs2": true, "squashfs": true, "erofs": true, "iso9660": true, "udf": true, "vfat": true,
	"exfat": true, "ntfs3": true, "ecryptfs": true,
}
