package audit

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

// TestLinesAreWhatEncodingJSONWrites holds the encoder to the tags of Record, one
// field at a time and all at once.
func TestLinesAreWhatEncodingJSONWrites(t *testing.T) {
	var e encoder
	check := func(r Record) {
		t.Helper()
		line := string(e.line(&r))
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if line != string(want)+"\n" {
			t.Fatalf("got  %swant %s", line, want)
		}
		if r.Prev == "" {
			return
		}
		back, err := decode([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil || back.Hash != r.Hash {
			t.Fatalf("%v, hash %s of %s", err, back.Hash, r.Hash)
		}
	}
	rnd := rand.New(rand.NewSource(1))
	check(Record{})
	fields := reflect.TypeFor[Record]()
	for i := range fields.NumField() {
		for range 50 {
			var r Record
			reflect.ValueOf(&r).Elem().Field(i).Set(anything(t, fields.Field(i).Type, rnd))
			check(r)
		}
	}
	for range 500 {
		var r Record
		for i := range fields.NumField() {
			reflect.ValueOf(&r).Elem().Field(i).Set(anything(t, fields.Field(i).Type, rnd))
		}
		check(r)
	}
}

// anything is a value of a type of Record's fields. Strings hold what JSON escapes.
func anything(t *testing.T, of reflect.Type, rnd *rand.Rand) reflect.Value {
	t.Helper()
	if of == reflect.TypeFor[time.Time]() {
		return reflect.ValueOf(time.Unix(rnd.Int63n(1<<33), rnd.Int63n(1e9)).UTC())
	}
	v, ok := quick.Value(of, rnd)
	if !ok {
		t.Fatalf("no value of %v", of)
	}
	return v
}
