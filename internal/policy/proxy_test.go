package policy

import (
	"fmt"
	"testing"
)

// A published proxy port would let every user of the node make requests with the
// jail's credentials.
func TestS21_TheProxysPortIsNotPublished(t *testing.T) {
	for _, key := range []string{"publish", "node_ports"} {
		doc := inline(t, fmt.Sprintf("proxy_env: true\n%s: [3128]\n", key))
		if _, err := Compile(doc, request(), facts()); !asErrors(t, err).Has("") {
			t.Errorf("%s: %v", key, err)
		}
		doc = inline(t, fmt.Sprintf("%s: [3128]\n", key))
		if _, err := Compile(doc, request(), facts()); err != nil {
			t.Errorf("%s without a proxy: %v", key, err)
		}
	}
	doc := inline(t, "proxy_env: true\n")
	if spec, err := Compile(doc, request(), facts()); err != nil || !spec.ProxyEnv {
		t.Errorf("proxy_env: %v", err)
	}
}
