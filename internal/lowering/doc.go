// Package lowering holds the tests that follow one policy through all that makes
// a jail of it: the document, the Spec, what a scout finds on a real tree, the
// plan of the mounts, the options of bwrap, the order for omnijail-init and the
// places of the wall. Each step has tests beside it; these ask whether what
// comes out in the end is still what the policy says.
package lowering
