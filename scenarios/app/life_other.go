//go:build !linux

package app

import "syscall"

// dieWithParent returns nil: a child ends when it notices that its pipe of orders is closed.
func dieWithParent() *syscall.SysProcAttr { return nil }
