package mitm

import (
	"errors"
	"net/http"
)

// gateStream holds a request of HTTP/2 to what readRequest holds one of HTTP/1 to,
// so that no translation can give it a second meaning. What it says of the scheme
// is not looked at: that of the connection is sent. The implementation has refused
// bad names, control bytes and headers of a connection by now.
func gateStream(req *http.Request) *refusal {
	if host, ok := req.Header["Host"]; ok && (len(host) > 1 || host[0] != req.Host) {
		return badRequest("Host is not :authority")
	}
	delete(req.Header, "Host")
	size, fields := len(req.Method)+len(req.RequestURI)+len(req.Host), 0
	var f framing
	for name, values := range req.Header {
		fields += len(values)
		field := singleField(name)
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
			if field < 0 {
				continue
			}
			if err := f.add(field, v); err != nil {
				return badRequest(err.Error())
			}
		}
	}
	if size > maxHead || fields > maxFields {
		return refuseHeaders()
	}
	if err := f.checkStream(req); err != nil {
		return badRequest(err.Error())
	}
	return nil
}

// checkStream checks the parts of a head that HTTP/2 writes in its own way.
func (f *framing) checkStream(req *http.Request) error {
	length, hasLength := f.has(fieldLength)
	switch {
	case req.Host == "":
		return errors.New(":authority is missing")
	case hasLength && !isLength(length), hasLength && !lengthIs(length, req.ContentLength):
		return errors.New("Content-Length is not the length of the body")
	}
	if err := scanMethod(req.Method); err != nil {
		return err
	}
	return scanTarget(req.RequestURI)
}
