package wire

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// FuzzDaemonMessage reads what only the daemon may send, with up to as many
// descriptors as a frame carries. None is left open by a refusal.
func FuzzDaemonMessage(f *testing.F) {
	for _, m := range []Message{Detach{1, testJail}, Freeze{2, testJail}, Ack{[]Written{{Seq: 3}}}, Secret{Jail: testJail, Binding: 1, By: ByNone}} {
		fr, err := m.encode()
		if err != nil {
			f.Fatal(err)
		}
		b, _ := fr.encode()
		f.Add(b, uint8(len(fr.Files)))
	}
	f.Fuzz(func(t *testing.T, packet []byte, files uint8) {
		fr, err := parseFrame(packet)
		if err != nil {
			return
		}
		for range files % (MaxFiles + 1) {
			null, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			fr.Files = append(fr.Files, null)
		}
		came := slices.Clone(fr.Files)
		m, err := DecodeDown(fr)
		if err != nil {
			for _, file := range came {
				if file.Close() == nil {
					t.Fatal("a refused frame leaves a descriptor open")
				}
			}
			return
		}
		defer fr.Close()
		again, err := m.encode()
		if err != nil {
			t.Fatalf("decoded %#v does not encode: %v", m, err)
		}
		if !bytes.Equal(again.Body, fr.Body) || !slices.Equal(again.Files, came) {
			t.Fatalf("%#v is not what came", m)
		}
	})
}
