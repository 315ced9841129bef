package creds

import (
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

const (
	defaultUsername = "x-access-token"
	githubHost      = "github.com"
)

// Defaults fills in what a policy may leave out: scheme of each target, user
// name, answer to foreign credentials, name and, for gh_basic, targets and
// variables. Host is the host of a gh_basic credential, empty for github.com.
// It does not check; Check refuses a host that is none.
func Defaults(b Binding, host string) Binding {
	if b.Type == GH {
		b = githubDefaults(b, host)
	}
	b.Targets = append([]Target(nil), b.Targets...)
	for i := range b.Targets {
		if b.Targets[i].Scheme == "" {
			b.Targets[i].Scheme = defaultScheme(b.Type, b.Targets[i])
		}
	}
	if b.Username == "" && (b.Type == Basic || b.Type == Git || b.Type == GH) {
		b.Username = defaultUsername
	}
	if b.Foreign == "" {
		b.Foreign = ForeignForward
	}
	if b.Cookies == "" {
		b.Cookies = CookiesKeep
	}
	if b.Name == "" && len(b.Targets) > 0 {
		b.Name = defaultName(b.Type, b.Targets[0].Authority)
	}
	return b
}

// defaultName is type and host, in the alphabet of names.
func defaultName(t Type, a egress.Authority) string {
	name := string(t) + "-" + strings.ReplaceAll(a.Host(), ":", "-")
	if len(name) > 64 {
		name = name[:64]
	}
	return name
}

func defaultScheme(t Type, target Target) Scheme {
	switch t {
	case Bearer:
		return SchemeBearer
	case Header:
		return SchemeHeader
	case GH:
		if strings.HasPrefix(target.Authority.Host(), "api.") || strings.HasPrefix(target.Path, "/api/") {
			return SchemeToken
		}
	}
	return SchemeBasic
}

// githubDefaults knows the three kinds of GitHub: github.com and its tenants
// under ghe.com have their API on a host of its own, an Enterprise server has it
// under /api. The variables are those that gh reads for each; gh makes no request
// while it finds none.
func githubDefaults(b Binding, host string) Binding {
	if host == "" {
		host = githubHost
	}
	host = strings.ToLower(host)
	cloud := host == githubHost || strings.HasSuffix(host, ".ghe.com")
	if len(b.Targets) == 0 {
		b.Targets = githubTargets(host, cloud)
	}
	if b.Env != nil {
		return b
	}
	if cloud {
		b.Env = []EnvVar{{Name: "GH_TOKEN"}, {Name: "GITHUB_TOKEN"}}
	} else {
		b.Env = []EnvVar{{Name: "GH_ENTERPRISE_TOKEN"}, {Name: "GITHUB_ENTERPRISE_TOKEN"}}
	}
	if host != githubHost {
		b.Env = append(b.Env, EnvVar{Name: "GH_HOST", Fixed: host})
	}
	return b
}

// githubTargets returns nil for a host that does not parse; Check then refuses
// the binding for want of targets. The first target that matches decides.
func githubTargets(host string, cloud bool) []Target {
	git, err := egress.ParseAuthority(host, httpsPort)
	if err != nil {
		return nil
	}
	if !cloud {
		return []Target{
			{Authority: git, Path: "/api/v3/**", Scheme: SchemeToken},
			{Authority: git, Path: "/api/graphql", Scheme: SchemeToken},
			{Authority: git, Scheme: SchemeBasic},
		}
	}
	api, err := egress.ParseAuthority("api."+host, httpsPort)
	if err != nil {
		return nil
	}
	return []Target{{Authority: git, Scheme: SchemeBasic}, {Authority: api, Scheme: SchemeToken}}
}
