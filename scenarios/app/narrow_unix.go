//go:build unix

package app

import "syscall"

// keepLittle bounds what the system keeps for a reader. It must be said before the connection is
// there: what was offered to the other side stands.
func keepLittle(_, _ string, conn syscall.RawConn) error {
	var failed error
	err := conn.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, narrowBytes)
	})
	if err != nil {
		return err
	}
	return failed
}
