package fault

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/gavel-relay/gavel/devnet/network"
)

// ListenWire opens a proxy on a free port of 127.0.0.1 in front of the service at host:port, whose
// protocol may be any that needs connections only. It carries bytes, so of a Condition it knows
// Latency, Reset, Refuse and Partition.
func ListenWire(target string) (*Proxy, error) {
	listener, err := network.Listen()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		address: listener.Addr().String(), wire: target, closed: make(chan struct{}), changed: make(chan struct{}),
		open: map[net.Conn]bool{},
	}
	p.accept(listener)
	return p, nil
}

// Address returns the host:port at which the proxy listens.
func (p *Proxy) Address() string { return p.address }

// carryAll carries the connections of a listener until it is closed.
func (p *Proxy) carryAll(listener net.Listener) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		go p.carry(p.gate(near))
	}
}

// carry carries bytes between a client and the service until one of them ends the connection.
func (p *Proxy) carry(near net.Conn) {
	far, err := p.dialContext(context.Background(), "tcp", p.wire) // ends with the proxy
	if err != nil {
		_ = near.Close() // the client sees that the service is away
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = near.Close(), far.Close() // the other way ends, too
		})
	}
	both.Wait()
}
