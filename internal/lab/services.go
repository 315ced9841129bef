package lab

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
)

// Private has h answer those who bring the token, and nobody else. Each request
// is recorded as authorized or not.
func (u *Upstream) Private(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !u.refused(w, r) {
			h.ServeHTTP(w, r)
		}
	})
}

// Below serves each handler below its path.
func Below(sites map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for at, h := range sites {
		mux.Handle(at, http.StripPrefix(at, h))
		mux.Handle(at+"/", http.StripPrefix(at, h))
	}
	return mux
}

// Cargo is a sparse registry at url that knows crates by name.
func Cargo(url string, pkgs ...Package) http.Handler {
	var found []string
	for _, p := range pkgs {
		found = append(found, fmt.Sprintf(`{"name":%q,"max_version":"1.0.0","description":""}`, p.Name))
	}
	return files{
		"/config.json":   fmt.Appendf(nil, `{"dl":"%s/dl","api":"%s"}`, url, url),
		"/api/v1/crates": fmt.Appendf(nil, `{"crates":[%s],"meta":{"total":%d}}`, strings.Join(found, ","), len(found)),
	}
}

// Apt is an unsigned archive with a suite "stable".
func Apt(pkgs ...Package) http.Handler {
	var list strings.Builder
	for _, p := range pkgs {
		fmt.Fprintf(&list, "Package: %s\nVersion: 1.0.0\nArchitecture: amd64\nDescription: %s\nFilename: pool/%s.deb\nSize: 1\nSHA256: %064d\n\n", p.Name, p.Name, p.Name, 0)
	}
	const at = "main/binary-amd64/Packages"
	release := fmt.Sprintf("Suite: stable\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nComponents: main\nArchitectures: amd64\nSHA256:\n %x %d %s\n", sha256.Sum256([]byte(list.String())), list.Len(), at)
	return files{"/dists/stable/Release": []byte(release), "/dists/stable/" + at: []byte(list.String())}
}

// KubernetesVersion is /version of an API server.
func KubernetesVersion() http.Handler {
	return files{"": []byte(`{"major":"1","minor":"32","gitVersion":"v1.32.0"}`)}
}

// S3 is an account with one bucket.
func S3(bucket string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`+
			`<Buckets><Bucket><Name>%s</Name><CreationDate>2026-01-01T00:00:00Z</CreationDate></Bucket></Buckets></ListAllMyBucketsResult>`, bucket)
	})
}
