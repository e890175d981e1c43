//go:build !linux

package postgrestest

import "syscall"

// serverProcess has nothing special: elsewhere the tests must not be root's.
func serverProcess() *syscall.SysProcAttr { return nil }

func ownedByServer(string) error { return nil }
