package seccomp

// machineAttempts is empty: many arm64 processors have no second ABI at all.
func machineAttempts() []attempt { return nil }
