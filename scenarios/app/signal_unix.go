//go:build unix

package app

import (
	"syscall"
)

// pause stops a process where it stands (SIGSTOP), resume lets it go on (SIGCONT).
func pause(l *life) error  { return l.process.Signal(syscall.SIGSTOP) }
func resume(l *life) error { return l.process.Signal(syscall.SIGCONT) }
