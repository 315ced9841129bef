package netns

import "os"

// ProxyPort is the port of loopback at which a jail with an explicit proxy finds it.
const ProxyPort = 3128

// Sockets are the sockets of a namespace with an outside, IPv4 before IPv6. Where
// the kernel runs without IPv6 there are half as many.
type Sockets struct {
	TCP     []*os.File // listening; LocalAddr of what they accept is the wanted destination
	UDP     []*os.File // port 53 of every address
	Proxy   []*os.File // listening at ProxyPort of loopback; none unless opened
	Packets *os.File   // receives packets that were refused, see bpf.Refused; nil unless opened
}

// Files returns the sockets that exist, in the order of the fields.
func (s Sockets) Files() []*os.File {
	var files []*os.File
	for _, list := range [][]*os.File{s.TCP, s.UDP, s.Proxy} {
		files = append(files, list...)
	}
	if s.Packets != nil {
		files = append(files, s.Packets)
	}
	return files
}

func (s Sockets) close() {
	for _, f := range s.Files() {
		f.Close()
	}
}
