//go:build !unix

package app

import "syscall"

// keepLittle does nothing where sockets are not the usual ones: whoever stalls is behind later
// there.
func keepLittle(string, string, syscall.RawConn) error { return nil }
