package netns

import "os"

// Sockets are the sockets of a namespace with an outside. Those of IPv6 are nil
// where the kernel runs without it.
type Sockets struct {
	TCP4, TCP6 *os.File // listening; LocalAddr of what they accept is the wanted destination
	UDP4, UDP6 *os.File // port 53 of every address
}

// Files returns the sockets that exist, in the order of the fields.
func (s Sockets) Files() []*os.File {
	var files []*os.File
	for _, f := range []*os.File{s.TCP4, s.TCP6, s.UDP4, s.UDP6} {
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
