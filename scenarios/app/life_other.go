//go:build !linux

package app

import "syscall"

// dieWithParent has nothing to say here: a child notices that its orders' pipe is closed.
func dieWithParent() *syscall.SysProcAttr { return nil }
