module github.com/omnijail/omnijail/tools/peers

go 1.26.0

toolchain go1.26.10

require github.com/elazarl/goproxy v1.9.4

require (
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
