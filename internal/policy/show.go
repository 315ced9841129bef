package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/jail"
)

// weakeningTexts say what each weakening that can be given gives away.
var weakeningTexts = map[jail.Weakening]string{
	jail.WeakPtrace:              "processes in the jail may trace each other, so one can take over another",
	jail.WeakNestedSandbox:       "the command may make namespaces and mounts of its own, which opens more of the kernel",
	jail.WeakCompatABI:           "32-bit system calls are allowed, which opens more of the kernel",
	jail.WeakGitConfig:           "the command may write git's configuration, and so have your next git command outside run a program",
	jail.WeakPassthrough:         "connections to hosts with intercept: false are passed on unread, so that whatever their servers answer for can be asked",
	jail.WeakControlSockets:      "unix_sockets may name what runs commands outside: docker, dbus, tmux, an agent of keys",
	jail.WeakHardlinks:           "what is hidden or protected may have another name in a granted folder, which is neither",
	jail.WeakUnixSockets:         "linux_landlock lets Unix sockets be made, which Landlock before ABI 9 does not hold; no credentials",
	jail.WeakNoIsolation:         "the command is not isolated: it sees, writes and reaches what you do, and only limits are held; no credentials",
	jail.WeakOpenNetwork:         "the command reaches every public address, and so whoever it likes to; never with a credential",
	jail.WeakPrivateDestinations: "allowed names may lead to private addresses, this node's network included",
}

// Show says in words what a policy gives, what gives safety away first. cwd is
// the directory that paths are shown against.
func Show(d *Document, cwd string) string {
	var b strings.Builder
	title := d.Ref.Name
	if d.Ref.Origin != "" && d.Ref.Origin != title {
		title += " (" + d.Ref.Origin + ")"
	}
	fmt.Fprintln(&b, title)
	if d.Description != "" {
		fmt.Fprintln(&b, d.Description)
	}
	section(&b, "Gives safety away", d.showWeak())
	section(&b, "Files", d.showFiles(cwd))
	section(&b, "Network", d.showRules())
	if d.ProxyEnv {
		section(&b, "Proxy", []string{fmt.Sprintf("clients are told of one, at port %d of the jail's loopback", proxyPort)})
	}
	section(&b, "Ports", d.showPorts())
	section(&b, "Credentials, attached outside the jail", d.showCredentials())
	section(&b, "Where a secret or a placeholder turns up", d.showFound())
	section(&b, "Environment", d.showEnv())
	section(&b, "Limits", d.showLimits())
	if d.Observe {
		section(&b, "Observed", []string{"refused files, system calls and packets are reported, which costs time"})
	}
	if d.Closed {
		section(&b, "The operator's: it cannot be extended", []string{"a request may set " + strings.Join(d.requestKeys(), ", ")})
	}
	section(&b, "Notes", d.showNotes())
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, l := range lines {
		fmt.Fprintln(b, "  "+l)
	}
}

func (d *Document) showWeak() []string {
	var out []string
	for _, w := range d.Weaken {
		out = append(out, fmt.Sprintf("%s (%s): %s", w.Text, w.At, weakeningTexts[jail.Weakening(w.Text)]))
	}
	if d.ProtectNew.Text == "detect" {
		out = append(out, fmt.Sprintf("protect_new: detect (%s): a file that the command makes and that runs by itself outside stays where it is", d.ProtectNew.At))
	}
	return out
}

func (d *Document) showFiles(cwd string) []string {
	if d.bare(Request{}) {
		return []string{"all that you may read and write yourself: there is no jail around the command"}
	}
	working := "the working directory, read-only"
	var out []string
	for _, w := range d.Write {
		p := shown(w.Text, cwd)
		if p == "." {
			working = "the working directory, writable"
			continue
		}
		out = append(out, "write "+p)
	}
	for _, r := range d.Read {
		out = append(out, "read "+shown(r.Text, cwd))
	}
	for _, s := range d.Sockets {
		out = append(out, "connect to "+shown(s.Text, cwd))
	}
	if d.OnReplaced.Text == "restage" {
		out = append(out, "go on when a hidden or protected file is replaced outside, once the new one is protected too")
	}
	for _, m := range d.Mask {
		out = append(out, "hide "+shown(m.Text, cwd))
	}
	for _, p := range d.Protect {
		out = append(out, "never write "+shownProtect(p.Text, cwd))
	}
	if len(d.AllowHidden) > 0 {
		out = append(out, "dot entries shown besides the usual ones: "+joinItems(d.AllowHidden))
	}
	switch d.Cache {
	case cachePrivate:
		out = append(out, "a cache for tools, kept from one command to the next")
	case cacheNone:
		out = append(out, "no cache for tools")
	}
	return append([]string{working}, out...)
}

func (d *Document) showRules() []string {
	if d.bare(Request{}) {
		return []string{"the node's, as you reach it yourself; nothing of it is judged or recorded"}
	}
	var out []string
	for _, deny := range []bool{true, false} {
		for _, r := range d.Rules {
			if r.Deny == deny {
				verb := map[bool]string{true: "never ", false: "allow "}[deny]
				out = append(out, verb+strings.TrimPrefix(r.Rule.String(), "!"))
			}
		}
	}
	for _, p := range d.Denied {
		out = append(out, "never an address in "+p.String())
	}
	if d.openRules() != nil {
		return append(out, "allow every public address")
	}
	if len(d.Rules) == 0 {
		return []string{"none"}
	}
	return out
}

func (d *Document) showCredentials() []string {
	var out []string
	for _, c := range d.Credentials {
		var hosts, from []string
		for _, t := range c.Targets {
			hosts = append(hosts, strings.TrimSuffix(t.Authority.String(), ":443")+t.Path)
		}
		for _, s := range c.Sources {
			from = append(from, showSource(s))
		}
		line := fmt.Sprintf("%s for %s, from %s", c.Name, strings.Join(hosts, ", "), strings.Join(from, ", else "))
		if c.Optional {
			line += " (left out if there is none)"
		}
		out = append(out, line)
	}
	return out
}

// showFound is what the policy says of it otherwise than by default.
func (d *Document) showFound() (out []string) {
	if d.OnMisuse == "freeze" {
		out = append(out, "a placeholder in a wrong place stops the jail's network")
	}
	if d.BodyCheck {
		out = append(out, "a request with a placeholder in its body is refused")
	}
	switch d.OnReflection {
	case "abort":
		out = append(out, "a reply that holds a secret is refused or broken off")
	case "freeze":
		out = append(out, "a reply that holds a secret stops the jail's network")
	}
	switch d.OnMinted {
	case "capture":
		out = append(out, "for a token that a reply gives for a credential the jail gets a placeholder")
	case "mask":
		out = append(out, "a token that a reply gives for a credential is replaced by asterisks")
	case "abort":
		out = append(out, "a reply that gives a token for a credential is refused or broken off")
	}
	return out
}

// showSource says where a value comes from, never what it is.
func showSource(s creds.Source) string {
	switch s.Kind {
	case creds.SourceEnv:
		return "$" + s.Env
	case creds.SourceFile:
		return s.File
	case creds.SourceCommand:
		return fmt.Sprintf("%q run outside the jail", strings.Join(s.Argv, " "))
	}
	return "the operator's " + s.Name
}

func (d *Document) showEnv() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		out = append(out, fmt.Sprintf("%s=%q", name, d.Env[name]))
	}
	for _, p := range d.Passthrough {
		out = append(out, p.Text+" as you have it")
	}
	return out
}

func (d *Document) showLimits() []string {
	out := LimitLines(d.Limits)
	if d.MaxAge > 0 {
		out = append(out, "max_age "+d.MaxAge.String()+" of a session jail")
	}
	return out
}

func (d *Document) showPorts() (out []string) {
	for _, p := range d.Publish {
		out = append(out, fmt.Sprintf("port %d of the jail, open to every user of the node on its loopback", p))
	}
	for _, p := range d.NodePorts {
		out = append(out, fmt.Sprintf("port %d of the node's loopback, reached from the jail as you", p))
	}
	return out
}

// showNotes are what a reader should know besides: mapped spellings, and rules
// that mean more or less than they seem to.
func (d *Document) showNotes() []string {
	out := slices.Clone(d.Notes)
	var rules []egress.Rule
	for _, r := range d.Rules {
		rules = append(rules, r.Rule)
		for _, note := range r.Rule.Notes() {
			out = append(out, r.At.String()+": "+note)
		}
	}
	if compiled, err := egress.Compile(rules); err == nil { // the error is Check's to report
		out = append(out, compiled.Notes()...)
	}
	return out
}
