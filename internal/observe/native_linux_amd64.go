package observe

import "golang.org/x/sys/unix"

// native is the ABI of which calls may go on.
const native = unix.AUDIT_ARCH_X86_64
