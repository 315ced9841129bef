package trust

import (
	"bytes"
	"crypto/sha1" // what OpenSSL names files by; it protects nothing
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// attribute is one part of a name, as certificates have it.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

type attributes []attribute

// certificateHash is how OpenSSL names a certificate in a directory, without the
// number: a digest of its subject in the form in which OpenSSL compares names.
// Roots of the node are root's own files, so root may look into them.
func certificateHash(der []byte) (string, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return "", err
	}
	var sets []asn1.RawValue
	if rest, err := asn1.Unmarshal(cert.RawSubject, &sets); err != nil || len(rest) > 0 {
		return "", fmt.Errorf("subject of a root: %w", err)
	}
	var canonical bytes.Buffer
	for _, set := range sets {
		part, err := canonicalSet(set)
		if err != nil {
			return "", fmt.Errorf("subject of a root: %w", err)
		}
		canonical.Write(part)
	}
	sum := sha1.Sum(canonical.Bytes())
	return fmt.Sprintf("%08x", binary.LittleEndian.Uint32(sum[:4])), nil
}

// canonicalSet writes the text of one set of attributes as UTF-8 in lower case
// with single spaces.
func canonicalSet(set asn1.RawValue) ([]byte, error) {
	var in attributes
	if _, err := asn1.UnmarshalWithParams(set.FullBytes, &in, "set"); err != nil {
		return nil, err
	}
	for i, a := range in {
		text, ok := attributeText(a.Value)
		if !ok {
			continue // OpenSSL takes what is no text as it is
		}
		folded := strings.Join(strings.FieldsFunc(lowerASCII(text), isSpace), " ")
		in[i].Value = asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(folded)}
	}
	return asn1.MarshalWithParams(in, "set")
}

// attributeText decodes the kinds of text that a name may hold.
func attributeText(v asn1.RawValue) (string, bool) {
	const visible, universal = 26, 28
	switch v.Tag {
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, visible:
		return string(v.Bytes), true
	case asn1.TagT61String: // Latin 1, to OpenSSL
		r := make([]rune, len(v.Bytes))
		for i, b := range v.Bytes {
			r[i] = rune(b)
		}
		return string(r), true
	case asn1.TagBMPString:
		u := make([]uint16, len(v.Bytes)/2)
		for i := range u {
			u[i] = binary.BigEndian.Uint16(v.Bytes[2*i:])
		}
		return string(utf16.Decode(u)), true
	case universal:
		r := make([]rune, len(v.Bytes)/4)
		for i := range r {
			r[i] = rune(binary.BigEndian.Uint32(v.Bytes[4*i:]))
		}
		return string(r), true
	}
	return "", false
}

func isSpace(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
