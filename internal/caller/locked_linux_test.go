package caller

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of a directory that is encrypted and whose key is not there the names are others,
// and nobody is told when the key comes. What was known of it then is not kept.
func TestS08_AScoutThatStaysIsNotBlindToAKeyThatComes(t *testing.T) {
	dir := playground(t)
	mountEncrypting(t, filepath.Join(dir, "w"))
	key := masterKey(t, dir+"/w")
	mkdir(t, dir, "w/private")
	policy := unix.FscryptPolicyV2{
		Version: 2, Contents_encryption_mode: unix.FSCRYPT_MODE_AES_256_XTS, Filenames_encryption_mode: unix.FSCRYPT_MODE_AES_256_CTS,
	}
	copy(policy.Master_key_identifier[:], key.U[:])
	control(t, dir+"/w/private", unix.FS_IOC_SET_ENCRYPTION_POLICY, unsafe.Pointer(&policy))
	write(t, dir, "w/private/.envrc", 0o644, "")
	write(t, dir, "w/private/a/.git/config", 0o644, "")
	unix.Sync()
	control(t, dir+"/w", unix.FS_IOC_REMOVE_ENCRYPTION_KEY, unsafe.Pointer(&unix.FscryptRemoveKeyArg{Key_spec: key}))
	if _, err := os.Lstat(dir + "/w/private/.envrc"); !os.IsNotExist(err) {
		t.Fatalf("the names are there without the key: %v", err)
	}
	s := newStayer(t, dir)
	s.view.ReadOnly = []string{".envrc"}
	s.serve(nil)
	masterKey(t, dir+"/w")
	want := mustOpen(t, s.request()).Reply.Grants[0]
	if len(want.ReadOnly) != 2 {
		t.Fatalf("with the key %+v is protected", want.ReadOnly)
	}
	if !s.Stays() {
		return // another one serves
	}
	if got := s.serve(nil); !reflect.DeepEqual(got, want) {
		t.Errorf("found\n%+v, another\n%+v", got, want)
	}
}

// mountEncrypting mounts a file system at dir whose directories can be encrypted.
func mountEncrypting(t *testing.T, dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	for _, argv := range [][]string{
		{"truncate", "-s", "16M", image}, {"mkfs.ext4", "-q", "-O", "encrypt", image},
		{"mkdir", "-p", dir}, {"mount", "-o", "loop", image, dir},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	if err := os.Remove(dir + "/lost+found"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, someone, someone); err != nil {
		t.Fatal(err)
	}
}

// masterKey gives the file system at dir the tests' key, which is always the same.
func masterKey(t *testing.T, dir string) unix.FscryptKeySpecifier {
	t.Helper()
	var add struct {
		unix.FscryptAddKeyArg
		raw [64]byte
	}
	add.Key_spec.Type, add.Raw_size = unix.FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER, uint32(len(add.raw))
	control(t, dir, unix.FS_IOC_ADD_ENCRYPTION_KEY, unsafe.Pointer(&add))
	return add.Key_spec
}

func control(t *testing.T, dir string, request uint, arg unsafe.Pointer) {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), uintptr(request), uintptr(arg)); errno != 0 {
		t.Fatalf("%#x of %s: %v", request, dir, errno)
	}
}
