package policy

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

func TestDeniedAddresses(t *testing.T) {
	spec, err := Compile(inline(t, "deny_addresses: [203.0.113.0/24, 198.51.100.7, 2001:db8::/32, '2001:db8::1']"), request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	var want []netip.Prefix
	for _, s := range []string{"203.0.113.0/24", "198.51.100.7/32", "2001:db8::/32", "2001:db8::1/128"} {
		want = append(want, netip.MustParsePrefix(s))
	}
	if !reflect.DeepEqual(spec.Denied, want) {
		t.Errorf("%v", spec.Denied)
	}
	for _, bad := range []string{"203.0.113.1/24", "example.com", "::ffff:1.2.3.4", "::ffff:1.2.3.0/120", "fe80::1%eth0", "1.2.3"} {
		_, err := tryInline("deny_addresses: ['" + bad + "']")
		if err == nil || !strings.Contains(err.Error(), "is not a network") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
