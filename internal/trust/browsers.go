package trust

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Browsers bring their roots and ask no store of the system. Their administrator
// adds a certificate by a policy: Chromium and its kin by its bytes, Firefox by
// the name of its file.
const (
	chromiumFile = "/run/omnijail/chromium.json"
	firefoxFile  = "/etc/firefox/policies/policies.json"
)

// chromiumNames are where Chromium, Chrome, Chrome for Testing, Edge and Brave look.
var chromiumNames = []string{
	"/etc/chromium/policies/managed/omnijail.json",
	"/etc/opt/chrome/policies/managed/omnijail.json",
	"/etc/opt/chrome_for_testing/policies/managed/omnijail.json",
	"/etc/opt/edge/policies/managed/omnijail.json",
	"/etc/brave/policies/managed/omnijail.json",
}

// browserLinks are the same in every jail.
func browserLinks(t *Tree) {
	for _, name := range chromiumNames {
		t.link(name, chromiumFile)
	}
	t.file(firefoxFile, []byte(`{"policies":{"Certificates":{"Install":["`+caFile+`"]}}}`+"\n"))
}

// browsers is the part that holds the jail's own CA; nil for none.
func browsers(t *Tree, ca []byte) error {
	added := []string{}
	if ca != nil {
		added = append(added, base64.StdEncoding.EncodeToString(ca))
	}
	b, err := json.Marshal(map[string]any{"CACertificates": added})
	if err != nil {
		return fmt.Errorf("browsers' policy: %w", err)
	}
	t.file(chromiumFile, append(b, '\n'))
	return nil
}
