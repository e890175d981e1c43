package fault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
)

// Ports of services that go away and come back are below those that systems give to who asks for
// any, so that nobody takes one in between. They are taken in turn, from a place that is another
// one in each process.
const (
	firstPort = 20_000
	ports     = 10_000
)

var lastPort atomic.Uint32

func init() { lastPort.Store(rand.Uint32N(ports)) }

// listenAnew listens on 127.0.0.1, at a port that is still free when the listener has been closed
// for a while.
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

// Address is a free host:port of 127.0.0.1 for a service that goes away and comes back: nobody who
// asks for any port is given it meanwhile.
func Address() (string, error) {
	listener, err := listenAnew()
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
