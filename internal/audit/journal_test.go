package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func small(t *testing.T) Options {
	t.Helper()
	return Options{File: filepath.Join(t.TempDir(), "audit.jsonl"), Rotate: 32 << 10, Max: 1 << 20, Reserve: 128 << 10}
}

func open(t *testing.T, o Options) *Journal {
	t.Helper()
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func request(uid uint32, n int) Record {
	return Record{Kind: KindRequest, UID: uid, Jail: "j0000000000000001", Authority: "api.example.test:443",
		Method: "GET", Path: fmt.Sprintf("/items/%d", n), Decision: Allow, Code: string(CodeAllowed)}
}

func write(t *testing.T, j *Journal, recs ...Record) []Record {
	t.Helper()
	out, err := j.Append(recs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// everything returns the bytes of all files in order.
func everything(t *testing.T, file string) []byte {
	t.Helper()
	paths, err := Files(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

func TestChainGoesOnThroughRotationAndReopening(t *testing.T) {
	o := small(t)
	var last uint64
	for range 3 {
		j := open(t, o)
		for i := range 100 {
			out := write(t, j, request(1000, i), request(1001, i))
			if out[0].Seq != last+1 || out[1].Prev != out[0].Hash {
				t.Fatalf("record %d follows %d", out[0].Seq, last)
			}
			last = out[1].Seq
		}
		if err := errors.Join(j.Close(), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	paths, _ := Files(o.File)
	if len(paths) < 3 {
		t.Fatalf("nothing was set aside: %v", paths)
	}
	all := everything(t, o.File)
	if _, err := Verify(bytes.NewReader(all)); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(all, []byte("\n")); uint64(n) != last {
		t.Fatalf("%d lines for %d records", n, last)
	}
	for _, p := range paths {
		if st, _ := os.Stat(p); st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", p, st.Mode())
		}
	}
}

func TestA90_VerifyNamesTheFirstBadLine(t *testing.T) {
	o := small(t)
	j := open(t, o)
	for i := range 6 {
		write(t, j, request(1000, i))
	}
	good := bytes.SplitAfter(everything(t, o.File), []byte("\n"))[:6]
	swapped := func(lines [][]byte) [][]byte { lines[2], lines[3] = lines[3], lines[2]; return lines }
	for name, c := range map[string]struct {
		line   int
		change func([][]byte) [][]byte
	}{
		"a changed byte":    {3, func(l [][]byte) [][]byte { l[2] = bytes.Replace(l[2], []byte("GET"), []byte("PUT"), 1); return l }},
		"a removed line":    {3, func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) }},
		"swapped lines":     {3, swapped},
		"a repeated line":   {4, func(l [][]byte) [][]byte { return slices.Insert(l, 3, l[2]) }},
		"a foreign line":    {1, func(l [][]byte) [][]byte { return slices.Insert(l, 0, []byte("{}\n")) }},
		"an empty line":     {2, func(l [][]byte) [][]byte { return slices.Insert(l, 1, []byte("\n")) }},
		"a torn end":        {6, func(l [][]byte) [][]byte { l[5] = l[5][:40]; return l }},
		"text after a hash": {2, func(l [][]byte) [][]byte { l[1] = append(l[1][:len(l[1])-2], []byte(",\"x\":1}\n")...); return l }},
		"a line of a megabyte": {2, func(l [][]byte) [][]byte {
			return slices.Insert(l, 1, append(bytes.Repeat([]byte("x"), 1<<20), '\n'))
		}},
	} {
		lines := make([][]byte, len(good))
		for i := range good {
			lines[i] = bytes.Clone(good[i])
		}
		var bad *VerifyError
		_, err := Verify(bytes.NewReader(bytes.Join(c.change(lines), nil)))
		if !errors.As(err, &bad) || bad.Line != c.line {
			t.Errorf("%s: %v, want line %d", name, err, c.line)
		}
	}
	if _, err := Verify(bytes.NewReader(bytes.Join(good, nil))); err != nil {
		t.Error(err)
	}
}

func TestA88_ForeignStringsStayHarmlessInTheJournal(t *testing.T) {
	j := open(t, small(t))
	r := request(1000, 1)
	r.Path = "/\x1b]0;x\x07\u202e" + strings.Repeat("a", 5000)
	r.Fix = "omnijailctl exec --allow " + strings.Repeat("b", 2000)
	r.Seq, r.ID, r.Prev = 99, "ffffffff", "lie"
	out := write(t, j, r)[0]
	if strings.ContainsAny(out.Path, "\x1b\x07\u202e") || len(out.Path) > 256 || out.Fix != "" {
		t.Errorf("stored %q, fix of %d bytes", out.Path, len(out.Fix))
	}
	if out.Seq != 1 || out.ID == "ffffffff" || out.Prev != "" {
		t.Errorf("the caller chose %d %s %q", out.Seq, out.ID, out.Prev)
	}
}

// A disk that takes only a part of a write leaves the journal as it was.
func TestA78_AFullDiskIsAnErrorAndLeavesNoTornLine(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	o := small(t)
	j := open(t, o)
	write(t, j, request(1000, 1))
	before := everything(t, o.File)

	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: uint64(len(before)) + 100, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	out, err := j.Append([]Record{request(1000, 2), request(1000, 3)})
	unix.Setrlimit(unix.RLIMIT_FSIZE, &old)
	if err == nil || out[0].Seq != 0 || out[1].ID != "" {
		t.Fatalf("a cut write passed: %v, %+v", err, out)
	}
	if after := everything(t, o.File); !bytes.Equal(before, after) {
		t.Fatalf("the file grew by %q", after[len(before):])
	}
	write(t, j, request(1000, 4))
	if _, err := Verify(bytes.NewReader(everything(t, o.File))); err != nil {
		t.Fatal(err)
	}
}

func TestATornLastLineIsRemovedAndSaidSo(t *testing.T) {
	o := small(t)
	j := open(t, o)
	for i := range 3 {
		write(t, j, request(1000, i))
	}
	j.Close()
	whole := everything(t, o.File)
	if err := os.WriteFile(o.File, append(whole, whole[:70]...), 0o600); err != nil {
		t.Fatal(err)
	}
	j = open(t, o)
	write(t, j, request(1000, 4))
	recs, err := j.Query(Filter{All: true})
	if err != nil || len(recs) != 5 || recs[3].Kind != KindJournal || !strings.Contains(recs[3].Reason, "70 bytes") {
		t.Fatalf("%v, %+v", err, recs)
	}
	if _, err := Verify(bytes.NewReader(everything(t, o.File))); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, file string){
		"a changed last line": func(t *testing.T, file string) {
			b, _ := os.ReadFile(file)
			os.WriteFile(file, bytes.Replace(b, []byte("GET"), []byte("PUT"), -1), 0o600)
		},
		"a file that others read": func(t *testing.T, file string) { os.Chmod(file, 0o640) },
		"a second name":           func(t *testing.T, file string) { os.Link(file, file+".other") },
		"a symbolic link": func(t *testing.T, file string) {
			os.Rename(file, file+".real")
			os.Symlink(file+".real", file)
		},
		"a FIFO": func(t *testing.T, file string) {
			os.Remove(file)
			unix.Mkfifo(file, 0o600)
		},
		"a segment that is a link": func(t *testing.T, file string) {
			os.Symlink("/etc/passwd", file+".00000000000000000001")
		},
	} {
		o := small(t)
		j := open(t, o)
		write(t, j, request(1000, 1))
		j.Close()
		spoil(t, o.File)
		if j, err := Open(o); err == nil {
			j.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

func TestOneWriterAtATime(t *testing.T) {
	o := small(t)
	j := open(t, o)
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Fatalf("a second writer: %v", err)
	}
	j.Close()
	open(t, o)
	if _, err := j.Append([]Record{request(1000, 1)}); err == nil {
		t.Fatal("a closed journal was written")
	}
}

func TestTooLittleSpaceIsRefusedAtOpen(t *testing.T) {
	o := small(t)
	o.Reserve = o.Max
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "audit.reserve") {
		t.Fatalf("opened: %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("batch%d", n), func(b *testing.B) {
			j, err := Open(Options{File: filepath.Join(b.TempDir(), "audit.jsonl"), Max: 8 << 30})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			batch := make([]Record, n)
			for i := range batch {
				batch[i] = request(0, i)
			}
			for b.Loop() {
				if _, err := j.Append(batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/record")
		})
	}
}
