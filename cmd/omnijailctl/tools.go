package main

import "github.com/omnijail/omnijail/internal/egress"

// tool is one program of the user's, and a read of its own kind that ends in the
// egress process: it starts in a jail, finds the name, trusts the jail's CA, and
// understands the answer.
type tool struct {
	name string
	argv []string // argv[0] is looked for on the caller's PATH
	env  map[string]string
	file string // what Doctor.java in the working directory holds
	says string // on its standard output, when all went well
}

const doctorURL = "https://" + egress.DoctorHost

// javaRead is a program in one file, compiled when it is run. It asks with both of
// Java's clients.
const javaRead = `import java.net.URI;
import java.net.http.*;

class Doctor {
  public static void main(String[] a) throws Exception {
    URI u = URI.create("` + doctorURL + `/");
    HttpClient.newHttpClient().send(HttpRequest.newBuilder(u).build(), HttpResponse.BodyHandlers.discarding());
    System.out.print(new String(u.toURL().openStream().readAllBytes()));
  }
}
`

var tools = []tool{
	{name: "git", argv: []string{"git", "ls-remote", doctorURL + "/git"}, says: "refs/heads/omnijail-doctor"},
	{name: "gh", argv: []string{"gh", "api", "user"}, says: "omnijail-doctor",
		env: map[string]string{"GH_HOST": egress.DoctorHost, "GH_ENTERPRISE_TOKEN": "none", "GH_NO_UPDATE_NOTIFIER": "1"}},
	{name: "curl", argv: []string{"curl", "-sS", doctorURL + "/"}, says: "omnijail-doctor"},
	{name: "wget", argv: []string{"wget", "-qO-", doctorURL + "/"}, says: "omnijail-doctor"},
	{name: "node", argv: []string{"node", "-e", `require("https").get("` + doctorURL + `/", r => r.pipe(process.stdout)).on("error", e => { console.error(e.message); process.exit(1) })`},
		says: "omnijail-doctor"},
	{name: "python", argv: []string{"python3", "-c", `import urllib.request as u; print(u.urlopen("` + doctorURL + `/").read().decode())`}, says: "omnijail-doctor"},
	{name: "java", argv: []string{"java", "Doctor.java"}, file: javaRead, says: "omnijail-doctor"},
	{name: "go", argv: []string{"go", "list", "-m", "-versions", "omnijail.invalid/doctor"}, says: "omnijail.invalid/doctor v1.0.0",
		env: map[string]string{"GO111MODULE": "on", "GOPROXY": doctorURL + "/go", "GONOSUMDB": "*", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}},
	{name: "cargo", argv: []string{"cargo", "search", "omnijail-doctor", "--index", "sparse+" + doctorURL + "/cargo/"}, says: "omnijail-doctor",
		env: map[string]string{"CARGO_UNSTABLE_SPARSE_REGISTRY": "true", "RUSTC_BOOTSTRAP": "1"}}, // before 1.68 such registries are behind a switch
	{name: "npm", argv: []string{"npm", "view", "omnijail-doctor", "version", "--registry", doctorURL + "/npm/"}, says: "1.0.0",
		env: map[string]string{"NPM_CONFIG_UPDATE_NOTIFIER": "false"}},
	{name: "pip", argv: []string{"pip3", "index", "versions", "omnijail-doctor", "--index-url", doctorURL + "/simple"}, says: "1.0.0",
		env: map[string]string{"PIP_DISABLE_PIP_VERSION_CHECK": "1"}},
	{name: "apt", argv: []string{"/usr/lib/apt/apt-helper", "download-file", doctorURL + "/", "/tmp/doctor"}, says: "Fetched"},
	{name: "kubectl", argv: []string{"kubectl", "--server", doctorURL, "--token", "none", "get", "--raw", "/version"}, says: "omnijail-doctor"},
	{name: "aws", argv: []string{"aws", "--no-sign-request", "--region", "none", "--endpoint-url", doctorURL + "/s3", "s3api", "list-buckets"}, says: "omnijail-doctor",
		env: map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}},
	{name: "chromium", argv: []string{"chromium", "--headless", "--disable-gpu", "--no-first-run", "--no-sandbox", "--dump-dom", doctorURL + "/"}, says: "omnijail-doctor"},
}
