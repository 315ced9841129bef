package selftest

import (
	"fmt"
	"strings"
)

// Page is the suite as a page of the documentation.
func Page() string {
	var b strings.Builder
	all := All()
	fmt.Fprintf(&b, `# The escape suite

`+"`omnijailctl selftest`"+` starts jails on this node, tries in %d ways to get out of them, and says per guarantee what was refused. It runs as a user, in seconds, and changes nothing.

    omnijailctl selftest                                   # under rules of its own
    omnijailctl selftest --policy NAME                     # under a policy of yours or the operator's
    omnijailctl selftest --backend linux_landlock
    omnijailctl selftest --json --junit report.xml
    sudo omnijailctl selftest --user alice
    omnijailctl selftest --print-policy                    # the suite's rules, to install as the operator's

Exit codes: 0 nothing got out, 1 something did, 125 no jail could be started. What a node or a policy gives no occasion to try is *not run*, with the reason; it is never counted as passed. Attempts of the areas http, dns and credential need the suite's own rules in the policy; some follow the answer of an upstream and need `+"`--upstream NAME`"+`, a name that answers over https and is allowed below `+"`/open/`"+`.

An attempt that could never succeed would prove nothing. A test makes each of them without a jail, as root in namespaces of its own, and holds that it succeeds there. Where that cannot be shown, the last column says why.

The areas file, write, readonly, protected, ipc, start, handover, env and fd reach for what was not granted; identity, suid, process, proc and tty for rights; call, namespace, i386, x32 and socket for the kernel; network, device, dns, http and credential for what the proxy guards; limit, linger and trace for what must end with the jail.
`, len(all))
	area := ""
	for _, a := range all {
		if a.Area() != area {
			area = a.Area()
			fmt.Fprintf(&b, "\n## %s\n\n| attempt | tries to | what must happen | guarantee | no control because |\n|---|---|---|---|---|\n", area)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", a.Name, cell(a.Tries), cell(a.Must), a.Guarantee, cell(a.NoControl))
	}
	return b.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
