//go:build unix

package app

import (
	"syscall"
)

// pause stops a process with SIGSTOP, resume continues it with SIGCONT.
func pause(l *life) error  { return l.process.Signal(syscall.SIGSTOP) }
func resume(l *life) error { return l.process.Signal(syscall.SIGCONT) }
