package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/netns"
)

func ruled(t *testing.T, rules ...string) *jail.Spec {
	t.Helper()
	spec := &jail.Spec{Backends: []string{"linux_bwrap"}}
	for _, text := range rules {
		r, err := egress.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Rules = append(spec.Rules, r)
	}
	return spec
}

func TestWhichSocketsAJailNeeds(t *testing.T) {
	spec := ruled(t, "GET a.test/**", "GET http://a.test/**", "tcp://b.test:5432", "GET c.test:8443/**", "GET 203.0.113.7:8443/**", "!* d.test:*", "!* e.test:99/**")
	spec.Observe = true
	o, err := opening(netns.ByPort, spec)
	want := []uint16{22, 53, 80, 443, 5432, 8443}
	if err != nil || !slices.Equal(o.Ports, want) || !o.Proxy || !o.Packets || !slices.Equal(o.Addresses, []netip.Addr{netip.MustParseAddr("203.0.113.7")}) {
		t.Errorf("by port: %+v, %v", o, err)
	}
	if o, err := opening(netns.Steered, spec); err != nil || len(o.Ports) > 0 || o.Proxy || !o.Packets {
		t.Errorf("steered: %+v, %v", o, err)
	}
	if _, lacks := moreThan(o, netns.Opening{Ports: []uint16{22, 443}}); lacks {
		t.Error("a port that is there is missing")
	}
	if p, lacks := moreThan(o, netns.Opening{Ports: []uint16{22, 444}}); !lacks || p != 444 {
		t.Errorf("%d is missing: %v", p, lacks)
	}
}

func TestWhatAListenerForEachPortCannotDo(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("GET a.test:%d/**", 9000+i))
	}
	for name, spec := range map[string]*jail.Spec{
		"each port": ruled(t, "GET a.test:*/**"), "too many": ruled(t, many...),
		"the open network": {Backends: []string{"linux_bwrap"}, Rules: egress.OpenRules("x")},
	} {
		var refused *jail.UnsupportedError
		if _, err := opening(netns.ByPort, spec); !errors.As(err, &refused) || refused.Fix == "" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := opening(netns.Steered, spec); err != nil {
			t.Errorf("%s, steered: %v", name, err)
		}
	}
}
