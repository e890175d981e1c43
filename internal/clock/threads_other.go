//go:build !linux

package clock

// threadsWork can't be found out on this system: a call of the system that lasts counts as one that
// waits.
func threadsWork() bool { return false }
