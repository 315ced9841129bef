// Package policy is the language of policy files: what a jail may see, reach and
// be authenticated for, written by a person.
//
// A document goes one way. A reader (YAML for files, JSON for the wire) makes a
// tree with positions; the reference's spellings are mapped in the tree; decoding
// turns it into a Document and reports every error at once. Flatten, which runs
// in the client as the user, resolves what a document extends and makes a Flat:
// self-contained, with the file and line of each entry. The daemon decodes the
// Flat again, as strictly, and Compile makes the jail.Spec of it, a request and
// the node's facts.
//
// What is not written is not given: no rules is no network, no write path is a
// read-only directory, and a known key that this build does not enforce is an
// error that names it.
//
// Files are found by Find, obeyed only after Trust when they lie in the
// directory they rule over, and shown in words by Show. Policies in the
// operator's directory are closed: they cannot be extended, and a request may
// set only what their caller key lists.
package policy
