package explicit

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/elazarl/goproxy"
)

// Front opens tunnels. It is safe for concurrent use.
type Front struct{ proxy *goproxy.ProxyHttpServer }

var errNotOurs = errors.New("the front of the proxy dials nothing")

// New returns a Front. warned is told what the library has to say, without the
// values it would say it about: they may be a jail's.
func New(warned func(words string)) *Front {
	p := goproxy.NewProxyHttpServer()
	p.Logger = words(warned)
	p.ConnectDial = func(string, string) (net.Conn, error) { return nil, errNotOurs }
	p.Tr.Proxy = nil
	p.Tr.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errNotOurs }
	p.Tr.TLSClientConfig = nil
	p.OnRequest().HandleConnectFunc(tunnel)
	p.OnRequest().DoFunc(nothingElse)
	return &Front{proxy: p}
}

// Connect answers a CONNECT for authority, a host and a port, and then calls lead
// with the tunnel. It returns when lead does. conn stays the caller's to close.
func (f *Front) Connect(ctx context.Context, conn net.Conn, authority string, lead func(net.Conn)) {
	req := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Host: authority}, Host: authority,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody,
	}
	f.proxy.ServeHTTP(&client{conn: conn}, req.WithContext(context.WithValue(ctx, leadKey{}, lead)))
}

type leadKey struct{}

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// tunnel is the answer to every CONNECT: the connection goes back to us. A handler
// that says nothing would leave it to the library to dial.
func tunnel(host string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	lead, ok := ctx.Req.Context().Value(leadKey{}).(func(net.Conn))
	if !ok {
		return &goproxy.ConnectAction{Action: goproxy.ConnectReject}, host
	}
	return &goproxy.ConnectAction{
		Action: goproxy.ConnectHijack,
		Hijack: func(_ *http.Request, conn net.Conn, _ *goproxy.ProxyCtx) {
			if _, err := conn.Write([]byte(established)); err == nil {
				lead(conn)
			}
		},
	}, host
}

// nothingElse refuses whatever is no CONNECT: requests are carried elsewhere.
func nothingElse(req *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
	return req, goproxy.NewResponse(req, goproxy.ContentTypeText, http.StatusForbidden, "")
}

// words is a log that keeps the library's own words and drops what they are about.
type words func(string)

func (w words) Printf(format string, _ ...any) { w(format) }
