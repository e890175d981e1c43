package network

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
)

// Ports of services are below the range from which systems hand out free
// ports, so that nobody else gets such a port in between. They are used in turn, beginning at a
// random one, because several processes may do this at once.
const (
	firstPort = 20_000
	ports     = 10_000
)

var lastPort atomic.Uint32

func init() { lastPort.Store(rand.Uint32N(ports)) }

// Listen listens on 127.0.0.1, at a port that stays free while the listener is closed for some
// time: the system does not give it to others who ask for any free port.
func Listen() (net.Listener, error) {
	for range ports {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+lastPort.Add(1)%ports))
		switch {
		case err == nil:
			return listener, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	return nil, fmt.Errorf("listen: all ports from %d to %d are in use", firstPort, firstPort+ports-1)
}

// FreeAddress returns a host:port of 127.0.0.1 for a service that is started later, or that stops
// and comes back. See Listen.
func FreeAddress() (string, error) {
	listener, err := Listen()
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
