package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/api/apitest"
)

// daemon gives the person a stand-in for omnijaild that plays every exec with f
// and sends an exit of 0 after it.
func (p *person) daemon(t *testing.T, f func(e *apitest.Exec, req api.ExecRequest)) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/exec", func(w http.ResponseWriter, r *http.Request) { playExec(t, w, r, f) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		json.NewEncoder(w).Encode(map[string]any{"error": api.NotFound()})
	})
	p.env = append(p.env, "OMNIJAIL_SOCKET="+apitest.Serve(t, mux))
}

// playExec plays one exec with f and sends an exit of 0 after it.
func playExec(t *testing.T, w http.ResponseWriter, r *http.Request, f func(e *apitest.Exec, req api.ExecRequest)) {
	e, err := apitest.Accept(w, r)
	if err != nil {
		t.Error(err)
		return
	}
	defer e.Close()
	var req api.ExecRequest
	if err := json.Unmarshal(e.Request, &req); err != nil {
		t.Errorf("%s: %v", e.Request, err)
	}
	f(e, req)
	for _, file := range e.Files {
		file.Close()
	}
	e.Send(api.Event{Exit: &api.Exit{}}) // a client that had its exit has gone
}

// output runs a shell command to its end.
func output(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestWhatIsSaidAboutAnExec(t *testing.T) {
	p := newPerson(t)
	p.daemon(t, func(e *apitest.Exec, _ api.ExecRequest) {
		e.Files[1].WriteString("output\n")
		for _, ev := range []api.Event{
			{Started: &api.Started{Jail: "j1", Backend: "linux_bwrap", Policy: "default (/etc/omnijail/policies/default.yaml)"}},
			{Denied: &api.Denied{ID: "7f3a", Kind: "request", What: "POST a.example/: no rule allows it", Rule: "r", Fix: "omnijailctl exec --allow 'POST a.example/' -- …"}},
			{Denied: &api.Denied{ID: "7f3b", Kind: "credential", What: `credential "x": no value`, Text: `credential "x": no value`}},
			{Note: &api.Note{Text: "hidden in this directory: .env", Hint: "cwd_allow_hidden"}},
			{Exit: &api.Exit{Code: 124, Reason: "stopped: time limit 1s", Fix: "--timeout 2s"}},
		} {
			e.Send(ev)
		}
	})
	const last = "omnijailctl: stopped: time limit 1s\nhint: --timeout 2s\n"
	const usual = `omnijailctl: denied POST a.example/: no rule allows it
hint: omnijailctl exec --allow 'POST a.example/' -- … id 7f3a
omnijailctl: credential "x": no value
hint: omnijailctl why 7f3b
omnijailctl: hidden in this directory: .env
hint: cwd_allow_hidden
` + last
	for flags, want := range map[string]string{
		"":                 "" + usual,
		"-v":               "omnijailctl: jail j1, linux_bwrap, policy default (/etc/omnijail/policies/default.yaml)\n" + usual,
		"-q":               last,
		"--status-fd 3":    "",
		"--status-fd 3 -v": "",
	} {
		stdout, stderr, code := output(t, p.shell("omnijailctl exec "+flags+" -- true 3>status"))
		if stdout != "output\n" || stderr != want || code != 124 {
			t.Errorf("%q: exit %d, stdout %q, stderr:\n%s", flags, code, stdout, stderr)
		}
		if status, _, _ := output(t, p.shell("cat status")); strings.Contains(flags, "status") != (strings.Count(status, "\n") == 5 && strings.HasSuffix(status, `{"exit":{"code":124,"reason":"stopped: time limit 1s","fix":"--timeout 2s"}}`+"\n")) {
			t.Errorf("%q: status:\n%s", flags, status)
		}
	}
}

func TestADaemonThatDiesIsAnError(t *testing.T) {
	p := newPerson(t)
	p.daemon(t, func(e *apitest.Exec, _ api.ExecRequest) { e.Close() })
	_, stderr, code := output(t, p.shell("omnijailctl exec -- true"))
	if code != 125 || stderr != "omnijailctl: omnijaild ended before the command did; the command was ended with it\n" {
		t.Errorf("exit %d, %s", code, stderr)
	}
	status, stderr, code := output(t, p.shell("omnijailctl exec --status-fd 1 -- true"))
	if code != 125 || stderr != "" || !strings.HasPrefix(status, `{"exit":{"code":125,"reason":"omnijaild ended`) {
		t.Errorf("exit %d, %s, status %s", code, stderr, status)
	}
}

// What arrives is what was typed, byte by byte, and of the environment only what
// a policy asks for.
func TestWhatIsAsked(t *testing.T) {
	p := newPerson(t)
	asked := make(chan api.ExecRequest, 1)
	p.daemon(t, func(_ *apitest.Exec, req api.ExecRequest) { asked <- req })
	ask := func(command string) api.ExecRequest {
		t.Helper()
		if _, stderr, code := output(t, p.shell(command)); code != 0 {
			t.Fatalf("%s: exit %d, %s", command, code, stderr)
		}
		return <-asked
	}
	p.env = append(p.env, "GIVEN=1", "UNASKED=secret")
	got := ask(`omnijailctl exec --env A=1=2 --env GIVEN --env UNSET --env E= --cwd sub/.. --write . --timeout 90s --user alice -- echo '' -v`)
	if len(got.Argv) != 3 || got.Argv[1] != "" || got.Argv[2] != "-v" || got.Cwd != p.work+"/project" || got.Timeout != "1m30s" || got.User != "alice" || got.Add.Write[0] != "." {
		t.Errorf("asked %+v", got)
	}
	if len(got.Env) != 3 || got.Env["A"] != "1=2" || got.Env["GIVEN"] != "1" || got.Env["E"] != "" {
		t.Errorf("environment %v", got.Env)
	}
	if got.TTY != nil || got.Context["HOME"] != p.work+"/home" || got.Context["UNASKED"] != "" {
		t.Errorf("terminal %v, context %v", got.TTY, got.Context)
	}
	got = ask(`d=$(printf 'd\377'); mkdir "$d" && cd "$d" && omnijailctl exec -- echo "$d" é`)
	if got.Argv != nil || got.Cwd != "" || string(got.CwdB64) != p.work+"/project/d\xff" || string(got.ArgvB64[1]) != "d\xff" || string(got.ArgvB64[2]) != "é" {
		t.Errorf("asked %+v", got)
	}
}

// TestAPolicyOfTheDaemonsIsAskedWithTheRequest wants nothing sent that the policy does
// not want, and what it wants sent at the second request.
func TestAPolicyOfTheDaemonsIsAskedWithTheRequest(t *testing.T) {
	p := newPerson(t)
	first, second := make(chan api.ExecRequest, 1), make(chan api.ExecRequest, 1)
	values := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/exec", func(w http.ResponseWriter, r *http.Request) {
		if len(first) == 0 {
			var req api.ExecRequest
			json.NewDecoder(r.Body).Decode(&req)
			first <- req
			refused := api.Refuse(http.StatusPreconditionRequired, "environment", "more")
			refused.Wants = &api.Wants{Context: []string{"GIVEN", "UNSET"}, Secrets: []string{"TOKEN"}}
			w.WriteHeader(refused.Status)
			json.NewEncoder(w).Encode(map[string]any{"error": refused})
			return
		}
		playExec(t, w, r, func(e *apitest.Exec, req api.ExecRequest) {
			var value [16]byte
			n, _ := e.Files[3].ReadAt(value[:], 0)
			second <- req
			values <- string(value[:n])
		})
	})
	p.env = append(p.env, "OMNIJAIL_SOCKET="+apitest.Serve(t, mux), "GIVEN=1", "UNASKED=2", "TOKEN=secret")
	if _, stderr, code := output(t, p.shell("omnijailctl exec --policy theirs -- true")); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	if got := <-first; !got.Ask || got.Context["GIVEN"] != "" || got.Context["PATH"] == "" || len(got.SecretFDs) != 0 {
		t.Errorf("asked %+v", got)
	}
	got := <-second
	if got.Ask || got.Context["GIVEN"] != "1" || got.Context["UNASKED"] != "" || got.Context["PATH"] == "" || len(got.SecretFDs) != 1 {
		t.Errorf("asked %+v", got)
	}
	if value := <-values; value != "secret" {
		t.Errorf("the value is %q", value)
	}
}
