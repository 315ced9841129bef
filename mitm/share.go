package mitm

import "time"

// What work takes in a process that has little to do, which then also looks for more
// and wakes threads: a share of the process's time is booked with it. How one compares
// with another matters most: what they take on a machine is measured.
const (
	acceptWork    = 30 * time.Microsecond
	handshakeWork = 300 * time.Microsecond // without what is read for it
	dialWork      = 400 * time.Microsecond // with the handshake that follows
	requestWork   = 100 * time.Microsecond
	pieceWork     = 15 * time.Microsecond // of what comes in one read, and with each byte
	frameWork     = 2 * time.Microsecond  // of HTTP/2
	streamWork    = 40 * time.Microsecond // to begin one, besides its request
	kibWork       = 1 * time.Microsecond

	captureWork     = 40 * time.Microsecond // to keep a token, and with each byte of it
	captureByteWork = 400 * time.Nanosecond

	splicedCheaper = 8 // times than to read: bytes that the kernel carries
)

// afford waits for the jail's share before work.
func (p *Proxy) afford(work time.Duration) { p.share.Heed(p.ctx, work) }

// heed waits for the jail's share before n bytes that came are worked on.
func (p *Proxy) heed(n int) {
	p.afford(pieceWork + time.Duration(n)*kibWork>>10)
}
