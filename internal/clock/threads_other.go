//go:build !linux

package clock

// threadsWork is not known here: a call of the system that lasts is taken for one that waits.
func threadsWork() bool { return false }
