package fault

import (
	"context"
	"net"
	"sync"
	"time"
)

// Condition is the state of a connection; the zero value has no faults.
type Condition struct {
	// Latency is the delay of everything that is sent, in each direction.
	Latency time.Duration
	// Drop is the share of requests (0 to 1) that are never answered.
	Drop float64
	// Reset breaks open connections, and each new one as soon as it is accepted.
	Reset bool
	// Refuse breaks open connections and stops listening, so that new ones are refused.
	Refuse bool
	// Partition holds all bytes back.
	Partition bool
	// Answer is the HTTP status with which each request is answered instead of reaching the
	// service; 0 means none.
	Answer int
	// Corrupt is the share of requests (0 to 1) whose body reaches the service with wrong bytes; if
	// a request has no body, its answer is spoiled instead.
	Corrupt float64
}

// And returns both conditions at once: latencies add up, and of the rest the worse one holds.
func (c Condition) And(other Condition) Condition {
	return Condition{
		Latency: c.Latency + other.Latency, Drop: max(c.Drop, other.Drop),
		Reset: c.Reset || other.Reset, Refuse: c.Refuse || other.Refuse, Partition: c.Partition || other.Partition,
		Answer: max(c.Answer, other.Answer), Corrupt: max(c.Corrupt, other.Corrupt),
	}
}

// resetting is a listener that registers accepted connections with the proxy, and breaks them while
// the proxy's condition says so.
type resetting struct {
	net.Listener
	proxy *Proxy
}

// Accept implements net.Listener.
func (l resetting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.proxy.remember(conn)
	return &remembered{Conn: conn, proxy: l.proxy}, nil
}

// remember keeps a connection until it is closed, and breaks it at once if the condition asks for
// that.
func (p *Proxy) remember(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[conn] = true
	if p.condition.Reset || p.condition.Refuse {
		reset(conn)
	}
}

func (p *Proxy) forget(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
}

// reset closes a connection with a TCP reset, instead of an orderly end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails only if the connection is closed already
	}
	_ = conn.Close()
}

// remembered is a client's connection, which the proxy forgets on Close.
type remembered struct {
	net.Conn
	proxy *Proxy
}

func (c *remembered) Close() error {
	c.proxy.forget(c.Conn)
	return c.Conn.Close()
}

// dialContext opens a connection to the service, whose reads and writes the proxy can delay or
// hold.
func (p *Proxy) dialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	p.remember(conn)
	return p.gate(conn), nil
}

// gate delays what arrives on a connection, and holds it during a partition.
func (p *Proxy) gate(conn net.Conn) net.Conn {
	g := &gated{Conn: conn, proxy: p, arrived: make(chan chunk, chunksInFlight), done: make(chan struct{})}
	go g.receive()
	return g
}

// chunksInFlight is how many chunks a delayed connection holds; a faster sender waits.
const chunksInFlight = 256

// gated is a connection of the proxy: what arrives on it is delayed, and nothing passes during a
// partition. Read and Write are each called by one goroutine at a time, as the HTTP transport does.
type gated struct {
	net.Conn
	proxy   *Proxy
	arrived chan chunk // receive closes it
	rest    chunk      // what is left of the chunk that Read has begun
	once    sync.Once
	done    chan struct{} // closed by Close
}

// chunk is the result of one read, and the time from which it may be passed on.
type chunk struct {
	bytes []byte
	err   error
	at    time.Time
}

func (g *gated) receive() {
	defer close(g.arrived)
	for {
		buffer := make([]byte, 32<<10)
		n, err := g.Conn.Read(buffer)
		select {
		case g.arrived <- chunk{buffer[:n], err, time.Now().Add(g.proxy.Condition().Latency)}:
		case <-g.done:
			return
		}
		if err != nil {
			return
		}
	}
}

func (g *gated) Read(into []byte) (int, error) {
	if len(g.rest.bytes) == 0 && g.rest.err == nil {
		next, open := <-g.arrived
		if !open {
			return 0, net.ErrClosed
		}
		g.rest = next
		if !g.delay(next.at) {
			return 0, net.ErrClosed
		}
	}
	if !g.proxy.pass(g.done) {
		return 0, net.ErrClosed
	}
	n := copy(into, g.rest.bytes)
	g.rest.bytes = g.rest.bytes[n:]
	if len(g.rest.bytes) > 0 || n > 0 {
		return n, nil
	}
	return 0, g.rest.err
}

func (g *gated) delay(until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.done:
		return false
	}
}

func (g *gated) Write(bytes []byte) (int, error) {
	if !g.proxy.pass(g.done) {
		return 0, net.ErrClosed
	}
	return g.Conn.Write(bytes)
}

func (g *gated) Close() error {
	g.once.Do(func() { close(g.done) })
	g.proxy.forget(g.Conn)
	return g.Conn.Close()
}
