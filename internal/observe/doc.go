// Package observe is the process that is told what the command of an observed jail
// calls. It is the caller, outside the jail, with no right that the caller lacks,
// behind a filter of its own; omnijail-init runs it as one thing that a scout can
// be asked for.
//
// The jail's notify filter reports two kinds of calls. Those that every jail is
// refused are answered with EPERM here, the one answer that this package has for
// them. Those that name a file go on, whatever is found out about them: the kernel
// judges them by the mounts, the wall and the modes as in any other jail. So what
// the jail writes into its memory meanwhile can make a report wrong, and nothing
// else.
//
// A file call is answered first and looked at later, by another goroutine: whether
// a path exists outside must not show in how long the answer took.
package observe
