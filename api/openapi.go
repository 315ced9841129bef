package api

import _ "embed"

// OpenAPI is the description of the socket's routes, openapi.yaml of this folder.
//
//go:embed openapi.yaml
var OpenAPI []byte
