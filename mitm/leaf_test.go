package mitm

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/egress"
)

// TestLeaf holds what clients and the rest of the house rely on.
func TestLeaf(t *testing.T) {
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	root, err := x509.ParseCertificate(ca.DER())
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(root)
	now := time.Now()
	for _, name := range []string{"api.test:443", "93.184.216.34:443", "[2606:2800:220:1::1]:443"} {
		a := mustAuthority(t, name)
		cert, err := ca.mint(a, now)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: a.Host(), Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(leaf.DNSNames) + len(leaf.IPAddresses); n != 1 || leaf.IsCA {
			t.Errorf("%s: %d names, CA %v", name, n, leaf.IsCA)
		}
		if life := leaf.NotAfter.Sub(now); life > 24*time.Hour || leaf.NotBefore.After(now.Add(-23*time.Hour)) {
			t.Errorf("%s: from %v to %v", name, leaf.NotBefore, leaf.NotAfter)
		}
		if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve.Params().BitSize != 256 {
			t.Errorf("%s: key %T", name, leaf.PublicKey)
		}
	}
	if other, _ := NewCA(); other.cert.SerialNumber.Cmp(root.SerialNumber) == 0 {
		t.Error("two jails share a serial number")
	}
}

// TestA76_LeafCache holds that leaves are reused, replaced in time and bounded.
func TestA76_LeafCache(t *testing.T) {
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	l := newLeaves(ca, func(egress.Authority) bool { return false })
	now := time.Now()
	l.now = func() time.Time { return now }
	first, err := l.config(mustAuthority(t, "api.test:443"))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := l.config(mustAuthority(t, "api.test:443")); again != first {
		t.Error("the leaf was made twice")
	}
	now = now.Add(leafTTL)
	if late, _ := l.config(mustAuthority(t, "api.test:443")); late == first {
		t.Error("an old leaf was served")
	}
	for i := range leafCache + 10 {
		if _, err := l.config(mustAuthority(t, fmt.Sprintf("h%d.test:443", i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.byAuth) != leafCache || l.order.Len() != leafCache {
		t.Errorf("%d and %d leaves are kept", len(l.byAuth), l.order.Len())
	}
}

// TestA87_LeavesFollowTheClock sets the clock of a machine that slept, or was wrong:
// a leaf that clients would not take any more, or not yet, is made anew. What a value
// lives is counted by the other clock, which nobody sets.
func TestA87_LeavesFollowTheClock(t *testing.T) {
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	for name, jump := range map[string]time.Duration{"it slept": 3 * leafLife, "it was ahead": -3 * leafLife, "a minute back": -time.Minute} {
		l := newLeaves(ca, func(egress.Authority) bool { return false })
		first, err := l.config(mustAuthority(t, "api.test:443"))
		if err != nil {
			t.Fatal(err)
		}
		made := l.order.Front().Value.(*leaf).made
		if strings.Contains(made.String(), "m=") {
			t.Fatal("ages are counted by a clock that stands still while a machine sleeps")
		}
		set := made.Add(jump)
		l.now = func() time.Time { return set }
		again, err := l.config(mustAuthority(t, "api.test:443"))
		if err != nil {
			t.Fatal(err)
		}
		served, err := again.GetCertificate(&tls.ClientHelloInfo{ServerName: "api.test"})
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(served.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if set.Before(cert.NotBefore) || set.After(cert.NotAfter) || (jump == -time.Minute) != (again == first) {
			t.Errorf("%s: at %v a leaf from %v to %v", name, set, cert.NotBefore, cert.NotAfter)
		}
	}
}

// BenchmarkLeaf is the price of a new name.
func BenchmarkLeaf(b *testing.B) {
	ca, err := NewCA()
	if err != nil {
		b.Fatal(err)
	}
	a := mustAuthority(b, "api.test:443")
	for b.Loop() {
		if _, err := ca.mint(a, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
