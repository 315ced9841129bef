package policy

import (
	"slices"
	"strings"
)

// credentialNames are files and directories in which tools keep what logs them in.
var credentialNames = []string{
	".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure",
	".pgpass", ".my.cnf", ".databrickscfg", ".password-store", ".vault-token", ".terraformrc", ".boto", ".s3cfg", ".htpasswd",
	"credentials", "credentials.json", "credentials.toml", "hosts.yml", "gcloud", "keyrings", "omnijail",
	"id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "shadow",
}

// HoldsCredentials reports whether a path names a file of credentials, lies below
// such a directory, or is a home of hidden files as a whole: nothing that is
// proposed to anybody.
func HoldsCredentials(p string) bool {
	names := strings.Split(strings.Trim(p, "/"), "/")
	for _, name := range names {
		if slices.Contains(credentialNames, name) || strings.HasPrefix(name, ".env") {
			return true
		}
	}
	last := names[len(names)-1]
	return last == ".config" || last == ".local" || strings.HasSuffix(last, ".pem") || strings.HasSuffix(last, ".key")
}
