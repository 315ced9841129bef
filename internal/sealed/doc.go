// Package sealed makes memory files that nobody can change any more, so that whoever
// is handed one may look at it as often as they like and always sees the same.
package sealed
