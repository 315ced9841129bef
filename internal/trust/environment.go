package trust

import "strings"

// Environment returns the variables that make clients with roots of their own
// believe the jail's CA. The jail sets them over whatever the caller had: a value
// from outside names a file that is not there.
func Environment() map[string]string {
	return map[string]string{
		"SSL_CERT_FILE":       bundleFile, // OpenSSL, Python, Go, Rust
		"SSL_CERT_DIR":        certsDir,
		"NIX_SSL_CERT_FILE":   bundleFile,
		"CURL_CA_BUNDLE":      bundleFile,
		"REQUESTS_CA_BUNDLE":  bundleFile, // Python requests
		"HTTPLIB2_CA_CERTS":   bundleFile,
		"PIP_CERT":            bundleFile,
		"GIT_SSL_CAINFO":      bundleFile,
		"CARGO_HTTP_CAINFO":   bundleFile,
		"AWS_CA_BUNDLE":       bundleFile,
		"npm_config_cafile":   bundleFile,
		"NODE_EXTRA_CA_CERTS": caFile, // added to the roots that node brings
		"DENO_CERT":           caFile,

		"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE": bundleFile, // gcloud
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH":   bundleFile,
	}
}

// javaOptions is the variable that every JDK reads.
const javaOptions = "JAVA_TOOL_OPTIONS"

// OwnJavaEnvironment is for a JDK that is not the node's, and whose store no jail
// may cover. The JDK says on standard error that it obeys, so others are spared
// it. Options that are set already come after ours.
func OwnJavaEnvironment(set map[string]string) map[string]string {
	return map[string]string{javaOptions: strings.TrimSpace("-Djavax.net.ssl.trustStore=" + keyStoreFile + " " + set[javaOptions])}
}
