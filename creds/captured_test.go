package creds

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/omnijail/omnijail/internal/egress"
)

// capturingTable is a table of one binding to api.test that has its value.
func capturingTable(t *testing.T) *Table {
	t.Helper()
	table, err := NewTable([]Binding{bearerFor(t, "api.test:443")})
	if err != nil {
		t.Fatal(err)
	}
	table.Resolve(0, 1, secretOf(t, "the-value-of-the-binding"), nil)
	return table
}

func bearerFor(t *testing.T, authority string) Binding {
	t.Helper()
	return Defaults(Binding{
		Type: Bearer, Targets: []Target{{Authority: authorityOf(t, authority)}},
		Sources: []Source{{Kind: SourceEnv, Env: "X"}},
	}, "")
}

func authorityOf(t *testing.T, s string) egress.Authority {
	t.Helper()
	a, err := egress.ParseAuthority(s, 443)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func secretOf(t *testing.T, s string) Secret {
	t.Helper()
	secret, err := NewSecret([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// sends is what a request with this Authorization header goes out with.
func (t *Table) sends(to egress.Authority, value string) (string, Action) {
	v := t.Judge(Request{Scheme: egress.HTTPS, Method: "GET", Authority: to, Path: "/", RawTarget: "/", Header: http.Header{"Authorization": {value}}})
	if v.Action != Exchange {
		return "", v.Action
	}
	_, text := v.Token.Header(v.Token.Value.Reveal())
	return text, v.Action
}

// TestA62_AFloodOfTokensIsBounded: the latest are kept, in number and in bytes, and the
// placeholder of one that was forgotten is refused.
func TestA62_AFloodOfTokensIsBounded(t *testing.T) {
	api := authorityOf(t, "api.test")
	for size, least := range map[int]int{32: maxCaptured, MaxCaptured: 8} {
		table := capturingTable(t)
		var all []string
		for i := range 2 * maxCaptured {
			ph, ok := table.Capture(0, secretOf(t, fmt.Sprintf("%0*d", size, i)))
			if !ok {
				t.Fatalf("token %d is not taken", i)
			}
			all = append(all, ph)
		}
		kept := table.rows[0].kept()
		if n := len(kept); n < least || n > maxCaptured || sizeOf(kept) > maxCapturedBytes {
			t.Errorf("%d tokens of %d bytes are kept, in %d bytes", n, size, sizeOf(kept))
		}
		if _, action := table.sends(api, "Bearer "+all[0]); action != RefusePlaceholder {
			t.Errorf("one that was forgotten: %s", action)
		}
		if got, _ := table.sends(api, "Bearer "+all[len(all)-1]); got != fmt.Sprintf("Bearer %0*d", size, len(all)-1) {
			t.Errorf("the latest: %.80q", got)
		}
	}
}

// TestA63_AHundredAddressesAreKept, as long as a role of AWS signs them.
func TestA63_AHundredAddressesAreKept(t *testing.T) {
	table, store := capturingTable(t), authorityOf(t, "store.test")
	var all []string
	query := func(i int) string {
		return "X-Amz-Security-Token=" + strings.Repeat("t", 2000) + fmt.Sprintf("&X-Amz-Signature=%064d", i)
	}
	for i := range 100 {
		ph, _ := table.CaptureQuery(0, secretOf(t, query(i)), store, "/o")
		all = append(all, ph)
	}
	for i, ph := range all {
		if got, _ := table.Signed(egress.HTTPS, store, "/o", ph); string(got.Reveal()) != query(i) {
			t.Fatalf("address %d is forgotten", i)
		}
	}
}

// TestA62_NoSecretIsCapturedAnew: who makes a reply say what the table holds must not
// decide by it where that goes.
func TestA62_NoSecretIsCapturedAnew(t *testing.T) {
	table, other := capturingTable(t), authorityOf(t, "other.test")
	const token = "a-token-that-was-minted"
	ph, ok := table.Capture(0, secretOf(t, token))
	if !ok {
		t.Fatal("the token is not taken")
	}
	if again, ok := table.Capture(0, secretOf(t, token)); !ok || again != ph {
		t.Errorf("the same for the same host: %q %v, want %q", again, ok, ph)
	}
	for name, s := range map[string]string{
		"the value": "the-value-of-the-binding", "in other words": "x the-value-of-the-binding", "reversed": reversed("the-value-of-the-binding"),
		"a captured token": token, "in capitals": strings.ToUpper(token),
	} {
		if ph, ok := table.Capture(0, secretOf(t, s), other); ok {
			t.Errorf("%s is captured for another host, as %q", name, ph)
		}
		if ph, ok := table.CaptureQuery(0, secretOf(t, "sig="+s), other, "/"); ok {
			t.Errorf("%s is captured in an address, as %q", name, ph)
		}
	}
}

// TestA62_CapturedAtOnce: replies that come at the same time with the same token get one
// placeholder, and none of them is taken for a reflection.
func TestA62_CapturedAtOnce(t *testing.T) {
	table, token := capturingTable(t), secretOf(t, "a-token-that-was-minted")
	var all [8]string
	var together sync.WaitGroup
	for i := range all {
		together.Go(func() { all[i], _ = table.Capture(0, token) })
	}
	together.Wait()
	for _, ph := range all {
		if ph == "" || ph != all[0] {
			t.Errorf("%q", all)
		}
	}
}

// TestA62_ABasicPlaceholderIsReadAsItStands: one that happens to be base64 of something
// with a colon in it is a placeholder all the same.
func TestA62_ABasicPlaceholderIsReadAsItStands(t *testing.T) {
	api := authorityOf(t, "api.test")
	for range 64 { // a fifth of them decode to a colon
		table := capturingTable(t)
		ph, _ := table.Capture(0, secretOf(t, "dXNlcjpwYXNzd29yZA=="))
		if got, action := table.sends(api, "Basic "+ph); got != "Basic dXNlcjpwYXNzd29yZA==" {
			t.Fatalf("%q became %q, %s", ph, got, action)
		}
	}
}
