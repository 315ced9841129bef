package dnsstub

// Config is what the answers depend on. Allowed and Names are required. The
// other functions are called while a query waits and must not block.
type Config struct {
	// Allowed reports whether some rule could allow a request to host, which is
	// as egress.ParseHost returns it.
	Allowed func(host string) bool
	// Listed reports whether a rule names host in full. Other allowed names count
	// towards NewNamesPerMinute; when Listed is nil all do.
	Listed func(host string) bool
	// Names is the jail's mapping, shared by all its sockets.
	Names *Names
	// Heed, where there is one, is called before each query is worked on, and may
	// wait.
	Heed func()
	// Denied is told of each name that does not exist here. The name is as the
	// jail wrote it, without the final dot; qtype is "A", "HTTPS" or a number.
	Denied func(name, qtype string)
	// Limited is told of each allowed name that got no address, and why:
	// ErrTooFast or ErrTooManyNames.
	Limited func(name string, err error)
	// Panicked is told of a query that broke the stub; that query is dropped.
	Panicked func(value any)
}

func (c *Config) listed(host string) bool { return c.Listed != nil && c.Listed(host) }

func (c *Config) denied(name, qtype string) {
	if c.Denied != nil {
		c.Denied(name, qtype)
	}
}

func (c *Config) limited(name string, err error) {
	if c.Limited != nil {
		c.Limited(name, err)
	}
}
