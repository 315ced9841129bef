package daemon

import (
	"fmt"

	"github.com/omnijail/omnijail/netns"
)

// proxyVariables tell clients of the jail's explicit proxy. Both spellings are
// set: curl heeds one of them, wget the other. Loopback is the jail's own.
func proxyVariables() map[string]string {
	proxy := fmt.Sprintf("http://127.0.0.1:%d", netns.ProxyPort)
	const direct = "localhost,127.0.0.1,::1"
	return map[string]string{
		"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy,
		"http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy,
		"NO_PROXY": direct, "no_proxy": direct,
	}
}
