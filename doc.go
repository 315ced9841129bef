// Package omnijail is the root of the module; it holds no code but the test that
// keeps the shape of the house (arch_test.go). The programs are in cmd/.
package omnijail
