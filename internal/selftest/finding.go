package selftest

import "fmt"

// Result is how an attempt ended.
type Result string

// The three ends of an attempt.
const (
	Refused   Result = "refused"
	Succeeded Result = "succeeded"
	NotRun    Result = "not_run"
)

// Finding is what came of an attempt.
type Finding struct {
	Result Result `json:"result"`
	Detail string `json:"detail,omitempty"`
}

func refused(format string, args ...any) Finding {
	return Finding{Refused, fmt.Sprintf(format, args...)}
}

func succeeded(format string, args ...any) Finding {
	return Finding{Succeeded, fmt.Sprintf(format, args...)}
}

func notRun(format string, args ...any) Finding {
	return Finding{NotRun, fmt.Sprintf(format, args...)}
}

// fails is the finding of an attempt that any error refuses.
func fails(err error) Finding {
	if err != nil {
		return refused("%v", err)
	}
	return succeeded("it worked")
}

// opened is fails for something that has to be closed again.
func opened(f interface{ Close() error }, err error) Finding {
	if err == nil {
		f.Close()
	}
	return fails(err)
}
