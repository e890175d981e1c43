package network

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
)

// ephemeralFile says which ports Linux gives to those who ask for any, which each connection that
// is made does as well. Some systems begin it at 16,000, others at 1,024.
const ephemeralFile = "/proc/sys/net/ipv4/ip_local_port_range"

// portRange is the ports from first to last.
type portRange struct{ first, last int }

// servicePorts returns ports that a system does not give to who asks for any, so that nobody else
// gets one while its service is down. They are the 10,000 below the system's, but none below
// 10,000, where programs have ports of their own; or those above. If there is no room for either,
// they are as good as others.
func servicePorts(ephemeral portRange) portRange {
	const most, enough, lowest, highest = 10_000, 2_000, 10_000, 65_535
	if below := (portRange{max(ephemeral.first-most, lowest), ephemeral.first - 1}); below.len() >= enough {
		return below
	}
	if above := (portRange{ephemeral.last + 1, highest}); above.len() >= enough {
		return above
	}
	return portRange{lowest, lowest + most - 1}
}

func (r portRange) len() int { return r.last - r.first + 1 }

// ephemeralPorts returns the ports that this system gives to who asks for any.
func ephemeralPorts() portRange {
	r := portRange{32_768, 60_999}
	text, err := os.ReadFile(ephemeralFile)
	if err != nil {
		return r // no Linux; others begin at 49,152
	}
	var read portRange
	if _, err := fmt.Sscan(string(text), &read.first, &read.last); err != nil {
		return r
	}
	return read
}

// turns gives ports in turn, beginning at a random one, because several processes may do this at
// once.
var turns = sync.OnceValue(func() *portTurns {
	r := servicePorts(ephemeralPorts())
	return &portTurns{portRange: r, next: rand.IntN(r.len())}
})

// portTurns is safe for concurrent use.
type portTurns struct {
	portRange
	mu   sync.Mutex
	next int // guarded by mu
}

func (t *portTurns) port() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = (t.next + 1) % t.len()
	return t.first + t.next
}

// Listen listens on 127.0.0.1, at a port that stays free while the listener is closed for some
// time: the system does not give it to others who ask for any free port.
func Listen() (net.Listener, error) {
	t := turns()
	for range t.len() {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", t.port()))
		switch {
		case err == nil:
			return listener, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	return nil, fmt.Errorf("listen: all ports from %d to %d are in use", t.first, t.last)
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
