//go:build !linux

package projectiontest

import "syscall"

// serverProcess sets nothing: on other systems the tests must not run as root.
func serverProcess() *syscall.SysProcAttr { return nil }

func ownedByServer(string) error { return nil }
