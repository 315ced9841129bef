package jail

import (
	"testing"
	"time"
)

func TestNarrowTakesTheSmallerThatIsSet(t *testing.T) {
	policy := Limits{Timeout: time.Minute, Memory: 512 << 20, OpenFiles: 100}
	request := Limits{Timeout: time.Hour, Memory: 1 << 20, Pids: 10}
	want := Limits{Timeout: time.Minute, Memory: 1 << 20, Pids: 10, OpenFiles: 100}
	if got := policy.Narrow(request); got != want {
		t.Errorf("got %+v", got)
	}
	if got := request.Narrow(policy); got != want {
		t.Errorf("the other way round: %+v", got)
	}
	if got := policy.Narrow(Limits{}); got != policy {
		t.Errorf("nothing asked for: %+v", got)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "64KiB": 64 << 10, "100MiB": 100 << 20, "1GiB": 1 << 30, "1g": 1 << 30, "512m": 512 << 20, "2 MiB": 2 << 20,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "g", "-1", "1.5g", "1e9", "0x10", "9223372036854775807g", "1MB", " 1"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestParseCPU(t *testing.T) {
	for text, want := range map[string]int64{"2": 2000, "0.5": 500, "1.25": 1250} {
		if got, err := ParseCPU(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "1e9", "two"} {
		if got, err := ParseCPU(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}
