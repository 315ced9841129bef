package lab

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Package is a package of version 1.0.0 with its sources, by name below its root.
type Package struct {
	Name  string
	Files map[string]string
}

// files is a site with nothing but files. A path is with the leading slash.
type files map[string][]byte

func (f files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, ok := f[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodHead {
		w.Write(b)
	}
}

// PyPI returns an index of packages, and what serves their wheels: pypi.org and
// files.pythonhosted.org.
func PyPI(pkgs ...Package) (index, wheels http.Handler) {
	pages, archives := files{}, files{}
	for _, p := range pkgs {
		info := p.Name + "-1.0.0.dist-info/"
		in := maps.Clone(p.Files)
		in[info+"METADATA"] = "Metadata-Version: 2.1\nName: " + p.Name + "\nVersion: 1.0.0\n"
		in[info+"WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
		var record strings.Builder
		for name := range in {
			fmt.Fprintf(&record, "%s,,\n", name)
		}
		in[info+"RECORD"] = record.String() + info + "RECORD,,\n"
		wheel := zipped("", in)
		path := "/packages/" + p.Name + "-1.0.0-py3-none-any.whl"
		sum := sha256.Sum256(wheel)
		archives[path] = wheel
		pages["/simple/"+p.Name+"/"] = fmt.Appendf(nil, "<!DOCTYPE html><a href=\"https://files.pythonhosted.org%s#sha256=%x\">%s</a>", path, sum, path[len("/packages/"):])
	}
	return pages, archives
}

// NPM is a registry of packages: registry.npmjs.org.
func NPM(pkgs ...Package) http.Handler {
	site := files{}
	for _, p := range pkgs {
		in := maps.Clone(p.Files)
		in["package.json"] = fmt.Sprintf(`{"name":%q,"version":"1.0.0","main":"index.js"}`, p.Name)
		tarball := tarred("package/", in)
		path := "/" + p.Name + "/-/" + p.Name + "-1.0.0.tgz"
		sum1, sum512 := sha1.Sum(tarball), sha512.Sum512(tarball)
		site[path] = tarball
		page, err := json.Marshal(map[string]any{
			"name": p.Name, "dist-tags": map[string]string{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{
				"name": p.Name, "version": "1.0.0", "main": "index.js", "dist": map[string]string{
					"tarball": "https://registry.npmjs.org" + path, "shasum": hex.EncodeToString(sum1[:]),
					"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum512[:]),
				},
			}},
		})
		if err != nil {
			panic("lab: " + err.Error()) // strings always encode
		}
		site["/"+p.Name] = page
	}
	return site
}

// GoProxy is a proxy of modules: proxy.golang.org. Names are module paths.
func GoProxy(pkgs ...Package) http.Handler {
	site := files{}
	for _, p := range pkgs {
		mod := "module " + p.Name + "\n\ngo 1.20\n"
		in := maps.Clone(p.Files)
		in["go.mod"] = mod
		at := "/" + p.Name + "/@v/"
		site[at+"list"] = []byte("v1.0.0\n")
		site[at+"v1.0.0.info"] = []byte(`{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}`)
		site[at+"v1.0.0.mod"] = []byte(mod)
		site[at+"v1.0.0.zip"] = zipped(p.Name+"@v1.0.0/", in)
	}
	return site
}

// Maven is a repository of files, by path below maven2: repo.maven.apache.org.
func Maven(in map[string]string) http.Handler {
	site := files{}
	for name, text := range in {
		sum := sha1.Sum([]byte(text))
		site["/maven2/"+name] = []byte(text)
		site["/maven2/"+name+".sha1"] = []byte(hex.EncodeToString(sum[:]))
	}
	return site
}

func zipped(below string, in map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(in)) {
		w, err := z.Create(below + name)
		if err == nil {
			_, err = w.Write([]byte(in[name]))
		}
		if err != nil {
			panic("lab: " + err.Error()) // memory does not fail
		}
	}
	z.Close()
	return b.Bytes()
}

func tarred(below string, in map[string]string) []byte {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	t := tar.NewWriter(g)
	for _, name := range slices.Sorted(maps.Keys(in)) {
		err := t.WriteHeader(&tar.Header{Name: below + name, Mode: 0o644, Size: int64(len(in[name]))})
		if err == nil {
			_, err = t.Write([]byte(in[name]))
		}
		if err != nil {
			panic("lab: " + err.Error()) // memory does not fail
		}
	}
	t.Close()
	g.Close()
	return b.Bytes()
}
