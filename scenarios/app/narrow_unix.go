//go:build unix

package app

import "syscall"

// keepLittle limits a connection's receive buffer. It must run before the connection is made,
// because a window that was offered to the other side stays.
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
