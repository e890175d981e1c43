//go:build unix

package app

import (
	"syscall"
)

// pause stops a process with SIGSTOP, resume continues it with SIGCONT.
func pause(n *incarnation) error  { return n.process.Signal(syscall.SIGSTOP) }
func resume(n *incarnation) error { return n.process.Signal(syscall.SIGCONT) }
