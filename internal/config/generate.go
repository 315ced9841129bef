package config

// The reference of omnijaild.yaml is written from the comments of this package.
//
//go:generate go run ./gen
