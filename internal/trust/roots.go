package trust

import (
	"bytes"
	"encoding/pem"
	"errors"
)

// bundleSources are where distributions keep the PEM bundle, in the order in
// which they are tried.
var bundleSources = []string{
	debianBundle, // and Alpine's, NixOS's
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// roots returns the node's bundle, certificates only, and each one's DER.
func (r reader) roots() (bundle []byte, ders [][]byte, err error) {
	for _, name := range bundleSources {
		raw, err := r.copyFile(name)
		if err != nil {
			continue
		}
		var b bytes.Buffer
		for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
			if block.Type != "CERTIFICATE" {
				continue
			}
			ders = append(ders, block.Bytes)
			pem.Encode(&b, &pem.Block{Type: block.Type, Bytes: block.Bytes}) // a Buffer takes everything
		}
		if len(ders) > 0 {
			return b.Bytes(), ders, nil
		}
	}
	return nil, nil, errors.New("this node has no CA certificates: install the package ca-certificates")
}
