package scout

import "testing"

func TestMountinfoIsUnescaped(t *testing.T) {
	ms, err := parseMounts([]byte(
		"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
			`40 22 0:35 /a\040b /mnt/x\134y\012z ro master:1 propagate_from:2 - fuse.sshfs host: rw` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := mounts{
		22: {dev: "8:1", root: "/", point: "/", fstype: "ext4"},
		40: {dev: "0:35", root: "/a b", point: "/mnt/x\\y\nz", fstype: "fuse.sshfs"},
	}
	for id, m := range want {
		if ms[id] != m {
			t.Errorf("mount %d is %+v, want %+v", id, ms[id], m)
		}
	}
}

func FuzzMountinfo(f *testing.F) {
	f.Add([]byte("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"))
	f.Add([]byte("22 1 8:1 / / rw - ext4"))
	f.Add([]byte("\\04"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ms, err := parseMounts(text)
		if err == nil && len(ms) > len(text) {
			t.Fatal("more mounts than bytes")
		}
	})
}
