package api

// BuildVersion is set by the linker.
var BuildVersion = "dev"
