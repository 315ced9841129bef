// Package trust composes the /etc of a jail: who the caller is, which name server
// answers, and which certificates are believed. Nothing of the node's /etc is
// bound as a whole; what the jail gets of it is on a list, world-readable and
// owned by root.
//
// Snapshot reads the node once. (*Node).Compose adds what belongs to one jail and
// returns a Tree, which is inert: internal/stage writes it. Composing copies no
// more than the CA bundle, because it stands in the way of every command.
//
// Every trust store of any distribution (the PEM bundle under its names, the
// directory of subject hashes, Java's key store, NSS's database, p11-kit's anchors,
// the policies of browsers) is given with the jail's CA added, and Environment names the variables
// for clients that bring their own roots. A file of a vendor's JDK, outside of
// /etc, is covered by the jail's.
package trust
