package cgroup

import (
	"path"
	"slices"
	"strings"
)

// mount is one line of mountinfo about a cgroup hierarchy.
type mount struct {
	root        string // the cgroup that is mounted, "/" for the whole hierarchy
	point       string
	v2          bool
	controllers []string // of a v1 hierarchy: "memory", "name=systemd"
}

// flags in the last field of a v1 mount that are no controllers.
var mountFlags = []string{"rw", "ro", "xattr", "noprefix", "clone_children", "cpuset_v2_mode", "favordynmods", "nsdelegate"}

// parseMounts returns the cgroup mounts in the text of /proc/PID/mountinfo. Lines
// that it cannot read are not cgroup mounts to it.
func parseMounts(mountinfo string) []mount {
	var mounts []mount
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 6 || len(kind) < 3 {
			continue
		}
		m := mount{root: unescape(fields[3]), point: unescape(fields[4]), v2: kind[0] == "cgroup2"}
		if kind[0] == "cgroup" {
			m.controllers = slices.DeleteFunc(strings.Split(kind[2], ","), func(s string) bool {
				return slices.Contains(mountFlags, s) || strings.HasPrefix(s, "release_agent=")
			})
		}
		if m.v2 || len(m.controllers) > 0 {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// unescape undoes mountinfo's octal escapes: "\040" is a blank.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1:i+4]) {
			b.WriteByte(s[i+1]<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isOctal(s string) bool {
	return strings.Trim(s, "01234567") == "" && s[0] <= '3'
}

// membership is where one process is: hierarchy to path. The key of v2 is "", of
// a v1 hierarchy each of its controllers.
type membership map[string]string

// parseMembership reads the text of /proc/PID/cgroup.
func parseMembership(text string) membership {
	m := membership{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			m[controller] = path.Clean(strings.TrimSuffix(fields[2], " (deleted)"))
		}
	}
	return m
}

// below reports whether the cgroup path p is dir or in it. Both are cleaned.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
