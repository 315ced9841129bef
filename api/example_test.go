package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/omnijail/omnijail/api"
)

// One command in a jail of its own, with the output of this process.
func ExampleClient_Exec() {
	var c api.Client
	cwd, _ := os.Getwd()
	s, err := c.Exec(context.Background(), api.ExecRequest{
		Argv: []string{"ls", "-l"}, Cwd: cwd, Policy: json.RawMessage(`"offline"`),
		Context: map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
	}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, nil)
	if err != nil {
		fmt.Println(err) // an *api.Error where the daemon refused it
		return
	}
	defer s.Close() // ends the command, if it still runs
	for {
		event, _, err := s.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		if event.Exit != nil {
			fmt.Println("exit code", event.Exit.Code)
			return
		}
	}
}
