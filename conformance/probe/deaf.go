package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
)

// Deaf opens a stream as a client that never reads. The caller must close the connection.
func Deaf(ctx context.Context, address string) (net.Conn, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	connection, err := (&net.Dialer{Control: smallBuffers}).DialContext(ctx, "tcp", parsed.Host)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, err := fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n",
		parsed.RequestURI(), parsed.Host); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	return connection, nil
}

// smallBuffers makes the socket's buffer and segments small before it connects. So the buffers of
// its peer stay small too, and a write there soon finds no room.
func smallBuffers(_, _ string, socket syscall.RawConn) error {
	var err error
	if control := socket.Control(func(fd uintptr) {
		err = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536))
	}); control != nil {
		return fmt.Errorf("reach the socket: %w", control)
	}
	return err
}
