// Package packaging holds how omnijail comes onto a machine: the install script,
// the units, the Debian package. There is no code in it but its tests.
package packaging
