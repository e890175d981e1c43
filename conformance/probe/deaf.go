package probe

import (
	"context"
	"fmt"
	"net"
	"net/url"
)

// Deaf opens a stream as a client that never reads. The caller must close the connection.
func Deaf(ctx context.Context, address string) (net.Conn, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", parsed.Host)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if tcp, is := connection.(*net.TCPConn); is { // so that the peer's writes soon find no room
		if err := tcp.SetReadBuffer(4096); err != nil {
			return nil, fmt.Errorf("make the buffer smaller: %w", err)
		}
	}
	if _, err := fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n",
		parsed.RequestURI(), parsed.Host); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	return connection, nil
}
