package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// The states of a tool.
const (
	toolOK     = "ok"
	toolFailed = "failed"
	toolAbsent = "absent"
)

const (
	toolTime  = "60s"    // a tool that waits for something waits no longer
	toolBytes = 64 << 10 // of its output that is looked at
)

// tryTools runs each tool that is there in a jail of its own, which reaches one
// name: that of a server which the egress process plays.
func (g *globals) tryTools(ctx context.Context) (reports []api.ToolReport, err error) {
	if os.Geteuid() == 0 {
		return nil, usageError{error: errors.New("doctor --tools: run it as the user whose tools they are: a jail never runs as root")}
	}
	dir, err := os.MkdirTemp("", "omnijail-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	for _, t := range tools {
		r := api.ToolReport{Name: t.name, State: toolAbsent}
		if _, err := exec.LookPath(t.argv[0]); err == nil {
			if r, err = g.try(ctx, t, dir); err != nil {
				return nil, err
			}
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// try runs one tool. A refusal of the daemon's is the tool's failure.
func (g *globals) try(ctx context.Context, t tool, dir string) (api.ToolReport, error) {
	r := api.ToolReport{Name: t.name, State: toolFailed}
	req := api.ExecRequest{
		Argv: t.argv, Cwd: dir, Env: t.env, Policy: json.RawMessage(`"` + offline + `"`), Timeout: toolTime,
		Add: api.Add{Allow: []string{
			"GET,HEAD " + egress.DoctorHost + "/**",
			"POST " + egress.DoctorHost + "/git/git-upload-pack", // git's advertisement is judged as the fetch that it is for
		}}, Context: map[string]string{},
	}
	maps.Copy(req.Context, map[string]string{"HOME": homeDir(), "PATH": os.Getenv("PATH"), "LANG": "C.UTF-8"})
	if t.file != "" {
		if err := os.WriteFile(filepath.Join(dir, "Doctor.java"), []byte(t.file), 0o600); err != nil {
			return r, err
		}
	}
	std, out, errs, err := toolStdio()
	if err != nil {
		return r, err
	}
	s, err := g.client().Exec(ctx, req, std, nil)
	for _, f := range std {
		f.Close()
	}
	if err != nil {
		var refused *api.Error
		if !errors.As(err, &refused) {
			return r, err
		}
		r.Reason, r.Fix = refused.Reason, refused.Fix
		return r, nil
	}
	defer s.Close()
	stdout, stderr := make(chan string, 1), make(chan string, 1)
	go read(out, stdout)
	go read(errs, stderr)
	denied, exit, err := watchTool(s)
	if err != nil {
		return r, err
	}
	said, complained := <-stdout, <-stderr
	switch {
	case exit.Code == 0 && strings.Contains(said, t.says):
		r.State = toolOK
	case denied != nil:
		r.Reason, r.Fix = denied.Text, denied.Fix
	case exit.Reason != "":
		r.Reason, r.Fix = exit.Reason, exit.Fix
	default:
		r.Reason = fmt.Sprintf("exit %d: %s", exit.Code, lastLine(complained))
	}
	return r, nil
}

// toolStdio makes pipes for a tool's output. It has no input.
func toolStdio() (std [3]*os.File, out, errs *os.File, err error) {
	if std[0], err = os.Open(os.DevNull); err == nil {
		if out, std[1], err = os.Pipe(); err == nil {
			errs, std[2], err = os.Pipe()
		}
	}
	return std, out, errs, err
}

// read sends what a pipe gives until its end, at most toolBytes of it.
func read(f *os.File, to chan<- string) {
	b, _ := io.ReadAll(io.LimitReader(f, toolBytes))
	to <- string(b)
	io.Copy(io.Discard, f)
	f.Close()
}

// watchTool returns the first thing that a tool was refused, and its exit.
func watchTool(s *api.Session) (denied *api.Denied, exit *api.Exit, err error) {
	for {
		ev, file, err := s.Next()
		if err != nil {
			return nil, nil, err
		}
		if file != nil {
			file.Close()
		}
		if ev.Denied != nil && denied == nil {
			denied = ev.Denied
		}
		if ev.Exit != nil {
			return denied, ev.Exit, nil
		}
	}
}

// lastLine is the last line that says something, fit to be shown.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return audit.Escape(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
}

func printTools(reports []api.ToolReport) {
	if len(reports) == 0 {
		return
	}
	fmt.Println("\nYour tools, each in a jail:")
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	for _, r := range reports {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", r.Name, r.State, r.Reason)
		if r.Fix != "" {
			fmt.Fprintf(w, "  \t\tfix: %s\n", r.Fix)
		}
	}
	w.Flush()
}
