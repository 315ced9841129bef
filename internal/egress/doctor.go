package egress

// DoctorHost is a name of no server's: the egress process answers for it itself
// and dials nothing, so that doctor can try out a user's tools in a jail. The
// ending is reserved for names that never exist. A policy has to allow it like any
// other name.
const DoctorHost = "doctor.omnijail.invalid"
