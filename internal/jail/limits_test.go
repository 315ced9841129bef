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

// Who bounds memory alone has bounded swap with it; a ceiling of swap is one more.
func TestSwapIsTheOperatorsToGive(t *testing.T) {
	policy := Limits{Memory: 64 << 20, Swap: 32 << 20}
	for _, c := range []struct {
		ceiling Limits
		want    int64
	}{{Limits{}, 32 << 20}, {Limits{Memory: 1 << 30}, 0}, {Limits{Memory: 1 << 30, Swap: 1 << 20}, 1 << 20}, {Limits{Swap: 1 << 30}, 32 << 20}} {
		if got := policy.Under(c.ceiling).Swap; got != c.want {
			t.Errorf("under %+v: %d of swap, want %d", c.ceiling, got, c.want)
		}
	}
}

func TestCheckWantsRoomForOurOwn(t *testing.T) {
	for want, l := range map[string]Limits{
		"":                                {Timeout: 1, Memory: 16 << 20, Pids: 16, CPU: 1, OpenFiles: 16, FileSize: 1, Scratch: 1 << 20},
		"timeout: must not be negative":   {Timeout: -1},
		"memory: must be at least 16 MiB": {Memory: 64},
		"pids: must not be negative":      {Pids: -1},
		"pids: must be at least 16":       {Pids: 15},
		"open_files: must be at least 16": {OpenFiles: 3},
		"scratch: must be at least 1 MiB": {Scratch: 1},
		"file_size: must not be negative": {FileSize: -1},
	} {
		got := ""
		if err := l.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
	if err := (Limits{}).Check(); err != nil {
		t.Error(err)
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
