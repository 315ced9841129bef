// omnijaild is the root daemon of a node: it builds a jail for each command that
// somebody asks for on its socket.
//
//	omnijaild [flags]                serve
//	omnijaild check-config FILE      say what is wrong with a configuration
//	omnijaild cleanup [--dry-run]    remove what a killed daemon left
//	omnijaild version
//	omnijaild egress                 an egress process; started by the daemon alone
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/config"
)

const (
	exitFailed = 1
	exitUsage  = 64
)

func main() {
	verb := ""
	if len(os.Args) > 1 {
		verb = os.Args[1]
	}
	var err error
	switch verb {
	case "egress":
		os.Exit(egress())
	case "check-config":
		err = checkConfig(os.Args[2:])
	case "cleanup":
		err = sweep(os.Args[2:])
	case "version":
		fmt.Println("omnijaild", api.BuildVersion)
	default:
		err = serve(os.Args[1:])
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "omnijaild: %v\n", err)
	if errors.Is(err, errUsage) {
		os.Exit(exitUsage)
	}
	os.Exit(exitFailed)
}

var errUsage = errors.New("see omnijaild -h")

const verbs = `omnijaild [flags]                serve
omnijaild check-config FILE      say what is wrong with a configuration
omnijaild cleanup [-dry-run]     remove what a killed daemon left
omnijaild version                print the version

Flags, of serve and cleanup (omnijaild(8) says more):
`

// options are the flags of serve and cleanup.
type options struct {
	config, socket, runDir, stateDir string
	logLevel, logFormat              string
	dryRun                           bool
}

const defaultConfig = "/etc/omnijail/omnijaild.yaml"

func parseOptions(name string, args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&o.config, "config", defaultConfig, "configuration `FILE`")
	f.StringVar(&o.socket, "socket", "", "control socket `PATH`")
	f.StringVar(&o.runDir, "run-dir", "", "`DIR` of the socket and of what lives until a reboot")
	f.StringVar(&o.stateDir, "state-dir", "", "`DIR` of the audit journal and of caches")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	if name == "cleanup" {
		f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be removed")
	}
	f.Usage = func() {
		if name != "cleanup" {
			fmt.Fprint(f.Output(), verbs)
		}
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unknown argument %q: %w", f.Arg(0), errUsage)
	}
	return o, nil
}

// load reads the configuration and puts the flags over it.
func (o *options) load() (*config.Config, error) {
	c, err := config.Load(o.config, o.config != defaultConfig)
	if err != nil {
		return nil, err
	}
	if o.runDir != "" {
		if c.Socket == config.Default().Socket {
			c.Socket = o.runDir + "/omnijaild.sock"
		}
		if c.Metrics.Socket == c.RunDir+"/metrics.sock" {
			c.Metrics.Socket = o.runDir + "/metrics.sock"
		}
		c.RunDir = o.runDir
	}
	if o.stateDir != "" {
		if c.Audit.File == c.StateDir+"/audit.jsonl" {
			c.Audit.File = o.stateDir + "/audit.jsonl"
		}
		c.StateDir = o.stateDir
	}
	if o.socket != "" {
		c.Socket = o.socket
	}
	return &c, c.Check()
}

func (o *options) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: %w: %w", err, errUsage)
	}
	ho := &slog.HandlerOptions{Level: level}
	switch o.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, ho)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, ho)), nil
	}
	return nil, fmt.Errorf("--log-format: %q is neither text nor json: %w", o.logFormat, errUsage)
}

func checkConfig(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("check-config takes one FILE: %w", errUsage)
	}
	if _, err := config.Load(args[0], true); err != nil {
		return err
	}
	fmt.Println(args[0], "holds")
	return nil
}
