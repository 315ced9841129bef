package netns

import "os"

// ProxyPort is the port of loopback at which a jail with an explicit proxy finds it.
const ProxyPort = 3128

// Sockets are the sockets of a namespace with an outside. Those of IPv6 are nil
// where the kernel runs without it.
type Sockets struct {
	TCP4, TCP6 *os.File // listening; LocalAddr of what they accept is the wanted destination
	UDP4, UDP6 *os.File // port 53 of every address

	Proxy4, Proxy6 *os.File // listening at ProxyPort of loopback; nil unless opened
}

// Files returns the sockets that exist, in the order of the fields.
func (s Sockets) Files() []*os.File {
	var files []*os.File
	for _, f := range []*os.File{s.TCP4, s.TCP6, s.UDP4, s.UDP6, s.Proxy4, s.Proxy6} {
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

func (s Sockets) close() {
	for _, f := range s.Files() {
		f.Close()
	}
}
