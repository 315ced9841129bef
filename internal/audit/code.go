package audit

// Code says in one word why a request was allowed or refused. Codes are part of
// the contract: they stand in the audit, in refusal bodies and in events.
type Code string

// The codes. New ones are added, none is renamed.
const (
	CodeAllowed         Code = "allowed"
	CodeNoNetwork       Code = "no_network"  // the policy has no rules
	CodeNoRule          Code = "no_rule"     // no rule allows it
	CodeDenyRule        Code = "deny_rule"   // a deny rule names it
	CodeNameDenied      Code = "name_denied" // DNS: no rule could allow the name
	CodeIPLiteral       Code = "ip_literal"  // an address that no rule lists
	CodeAuthority       Code = "authority"   // SNI, Host or target name another authority
	CodeBadRequest      Code = "bad_request" // not a request we forward
	CodeMethod          Code = "method"      // TRACE, CONNECT
	CodePlainHTTP       Code = "plain_http"  // http:// without an http:// rule
	CodeRawTCP          Code = "raw_tcp"     // neither TLS nor HTTP
	CodeSSH             Code = "ssh"         // an SSH client
	CodeTLS             Code = "tls"         // a broken handshake from the jail
	CodeTLSClient       Code = "tls_client"  // the client refused our CA
	CodePlaceholder     Code = "placeholder" // a placeholder where it does not belong
	CodeForeign         Code = "foreign"     // the client's own credential, and foreign: deny
	CodeCredential      Code = "credential_unavailable"
	CodePrivate         Code = "private_address"
	CodeMetadata        Code = "metadata_address"
	CodeOwnAddress      Code = "own_address"
	CodeUpstreamDNS     Code = "upstream_dns"
	CodeUpstreamConnect Code = "upstream_connect"
	CodeUpstreamTLS     Code = "upstream_tls"
	CodeUpstreamTimeout Code = "upstream_timeout"
	CodeUpstreamProto   Code = "upstream_protocol"
	CodeBodyTooLarge    Code = "body_too_large"
	CodeHeaders         Code = "headers_too_large"
	CodeFlood           Code = "flood"
	CodeAudit           Code = "audit_unavailable"
	CodeFrozen          Code = "frozen"         // a misused placeholder or reflected secrets have stopped this jail
	CodeUpgrade         Code = "upgrade"        // another protocol than HTTP, which no rule opens
	CodePolicyChanged   Code = "policy_changed" // under way when the jail was given a policy that allows it no longer
	CodeDeniedAddress   Code = "denied_address"
	CodeReflection      Code = "reflection"   // a reply held a secret
	CodeMintedToken     Code = "minted_token" // allowed, and the reply gave the jail a token
	CodeBearerURL       Code = "bearer_url"   // allowed, and the reply gave the jail an address that authenticates
	CodeCaptured        Code = "captured"     // allowed, and the jail has a placeholder for what the reply gave
	CodePacket          Code = "packet"       // nothing but TCP and DNS is carried

	// CodeClientCredential is of a request that was allowed, to a host with a
	// credential, with one of the client's own (foreign: forward, strip).
	CodeClientCredential Code = "client_credential"
)

// The codes of refusals outside the network. The egress process knows none of
// them.
const (
	CodeFileRead  Code = "file_read"  // a file that the jail does not show
	CodeFileWrite Code = "file_write" // a file that the jail shows and does not let be written
	CodeSyscall   Code = "syscall"    // a system call that the filter refuses
	CodeLimit     Code = "limit"      // memory, processes or time
	CodeReplaced  Code = "replaced"   // a protected or hidden file was replaced outside
	CodeNewName   Code = "new_name"   // a file that runs by itself outside was made in the jail
	CodeSocket    Code = "socket"     // Unix sockets and FIFOs in the grants were hidden
	CodeUnwatched Code = "unwatched"  // new files could not be watched any more
)

// Codes lists all codes of the network; a code's place in it is its number on the egress
// channel, so entries are only ever appended.
var Codes = []Code{
	CodeAllowed, CodeNoNetwork, CodeNoRule, CodeDenyRule, CodeNameDenied, CodeIPLiteral,
	CodeAuthority, CodeBadRequest, CodeMethod, CodePlainHTTP, CodeRawTCP, CodeSSH, CodeTLS,
	CodeTLSClient, CodePlaceholder, CodeForeign, CodeCredential, CodePrivate, CodeMetadata,
	CodeOwnAddress, CodeUpstreamDNS, CodeUpstreamConnect, CodeUpstreamTLS, CodeUpstreamTimeout,
	CodeUpstreamProto, CodeBodyTooLarge, CodeHeaders, CodeFlood, CodeAudit, CodeFrozen, CodeUpgrade, CodePolicyChanged,
	CodeDeniedAddress, CodeReflection, CodeMintedToken, CodeBearerURL, CodeCaptured, CodePacket, CodeClientCredential,
}
