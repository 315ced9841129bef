package child

// RestoreRequest asks a scout to open what is now at places of a running jail whose
// protections have gone. One O_PATH descriptor of the jail's root comes with it; the
// jail stands still.
type RestoreRequest struct {
	Places Names  `json:"places"` // relative to that root
	Dirs   []bool `json:"dirs"`   // per place, whether a directory has to be there
}

// RestoreReply says which of them are there, of the kind that they have to be. An
// O_PATH descriptor follows for each true one.
type RestoreReply struct {
	Err   *OpenError `json:"err,omitempty"`
	Found []bool     `json:"found,omitempty"`
}
