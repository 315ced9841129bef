package trust

// Environment returns the variables that make clients with roots of their own
// believe the jail's CA. The jail sets them over whatever the caller had: a value
// from outside names a file that is not there.
func Environment() map[string]string {
	return map[string]string{
		"SSL_CERT_FILE":       bundleFile, // OpenSSL, Python, Go, Rust
		"CURL_CA_BUNDLE":      bundleFile,
		"REQUESTS_CA_BUNDLE":  bundleFile, // Python requests
		"PIP_CERT":            bundleFile,
		"GIT_SSL_CAINFO":      bundleFile,
		"CARGO_HTTP_CAINFO":   bundleFile,
		"AWS_CA_BUNDLE":       bundleFile,
		"npm_config_cafile":   bundleFile,
		"NODE_EXTRA_CA_CERTS": caFile, // added to the roots that node brings
		"DENO_CERT":           caFile,
	}
}
