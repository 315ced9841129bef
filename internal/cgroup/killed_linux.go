package cgroup

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// maxLog bounds how many records of the kernel's log are read.
const maxLog = 1 << 14

// Killed returns the name of the process of g that the kernel killed last for want
// of memory, as the kernel has it: at most 15 bytes of the process's own choice.
// It is empty where the kernel's log may not be read, or has it no more.
func (g *Group) Killed() string {
	log, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(log), "kmsg")
	defer f.Close()
	var name string
	buf := make([]byte, 8<<10)
	for range maxLog {
		n, err := unix.Read(log, buf)
		if err == unix.EPIPE { // overwritten while we were reading: go on behind it
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		if found := killedIn(buf[:n], g.name); found != "" {
			name = found
		}
	}
	return name
}

// killedIn reads a record of the kernel's log: the name of the process that was
// killed in the group called name, empty for any other record. The process's name
// comes behind the group's, and before what it cannot look like.
func killedIn(record []byte, name string) string {
	record, _, _ = bytes.Cut(record, []byte("\n"))
	_, rest, ok := bytes.Cut(record, []byte(";oom-kill:"))
	if !ok {
		return ""
	}
	_, rest, ok = bytes.Cut(rest, []byte(",oom_memcg="))
	if !ok {
		return ""
	}
	group, rest, _ := bytes.Cut(rest, []byte(","))
	if !bytes.HasSuffix(group, []byte("/"+name)) {
		return ""
	}
	_, rest, _ = bytes.Cut(rest, []byte(",task="))
	end := bytes.LastIndex(rest, []byte(",pid="))
	if end < 0 || end > 64 {
		return ""
	}
	return string(rest[:end])
}
