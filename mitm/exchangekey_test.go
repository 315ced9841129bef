package mitm

import (
	"crypto/tls"
	"net/http"
	"testing"
)

// TestKeyExchangeTowardsTheJail is a classical one with any client that has one, and
// whatever a client has otherwise.
func TestKeyExchangeTowardsTheJail(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	addr := r.serve("api.test:443", http.NotFoundHandler())
	for name, c := range map[string]struct {
		has  []tls.CurveID
		want tls.CurveID
	}{
		"all":       {nil, tls.X25519},
		"classical": {[]tls.CurveID{tls.CurveP256}, tls.CurveP256},
		"hybrid":    {[]tls.CurveID{tls.X25519MLKEM768}, tls.X25519MLKEM768},
	} {
		conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: r.jailRoots(), ServerName: "api.test", CurvePreferences: c.has})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := conn.ConnectionState().CurveID; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		conn.Close()
	}
}
