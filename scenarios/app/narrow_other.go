//go:build !unix

package app

import "syscall"

// keepLittle does nothing on systems without Unix's socket options: a client that stalls falls
// behind later there.
func keepLittle(string, string, syscall.RawConn) error { return nil }
