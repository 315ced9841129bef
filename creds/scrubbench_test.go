package creds

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkScrub searches replies for ten secrets: noise, and text that looks like
// the forms that are searched for.
func BenchmarkScrub(b *testing.B) {
	var values []string
	for i := range 10 {
		values = append(values, fmt.Sprintf("ghp_%036x", rand.Uint64()+uint64(i)))
	}
	table := searchTable(b, values...)
	noise, text := make([]byte, 64<<10), make([]byte, 0, 64<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for len(text) < 63<<10 {
		text = fmt.Appendf(text, `{"id": %d, "node_id": "%x", "name": "Hello-World", "html_url": "https://github.com/octocat/%d"},`+"\n",
			rand.Uint32(), rand.Uint64(), rand.Uint32())
	}
	captured := searchTable(b, values...)
	for range maxCaptured {
		token, _ := NewSecret(fmt.Appendf(nil, "%016x%016x%016x", rand.Uint64(), rand.Uint64(), rand.Uint64()))
		captured.Capture(0, token)
	}
	for name, table := range map[string]*Table{"": table, "captured-": captured} {
		for kind, data := range map[string][]byte{"noise": noise, "json": text} {
			b.Run(name+kind, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				s := table.NewScrubber()
				for b.Loop() {
					s.Next(data)
				}
			})
		}
	}
}

// BenchmarkCapture takes one token more where as many are kept as may be, and makes
// the search for them anew.
func BenchmarkCapture(b *testing.B) {
	table := searchTable(b, "ghp_0123456789abcdef0123456789abcdef")
	for b.Loop() {
		token, _ := NewSecret(fmt.Appendf(nil, "%016x%016x%016x", rand.Uint64(), rand.Uint64(), rand.Uint64()))
		table.Capture(0, token)
		table.Matcher()
	}
}
