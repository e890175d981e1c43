package fault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
)

// Ports of services that stop and come back are below the range from which systems hand out free
// ports, so that nobody else gets such a port in between. They are used in turn, beginning at a
// random one, because several processes may do this at once.
const (
	firstPort = 20_000
	ports     = 10_000
)

var lastPort atomic.Uint32

func init() { lastPort.Store(rand.Uint32N(ports)) }

// listenAnew listens on 127.0.0.1, at a port that stays free while the listener is closed for some
// time.
func listenAnew() (net.Listener, error) {
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

// Address returns a free host:port of 127.0.0.1 for a service that stops and comes back. The system
// does not give this port to others who ask for any free port.
func Address() (string, error) {
	listener, err := listenAnew()
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
