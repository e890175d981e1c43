package serve

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// crowd is a listener that bounds the open connections, in all and of one address. When there is no
// place, the connection that has been idle longest is closed for the new one; a connection with a
// request on it never is.
//
//	new ─┬─ its address has its share ─▶ the address's longest idle goes ─┬─▶ in
//	     │                               └─ none is idle: the new one is closed
//	     └─ all places are taken ──────▶ the longest idle of all goes ────┴─▶ in
//	                                     └─ none is idle: it waits until one is
//
// A connection is idle from the beginning, until a request comes, and between requests. It is safe
// for concurrent use.
type crowd struct {
	net.Listener
	most, share int            // share 0 for no bound
	exempt      []netip.Prefix // proxies, behind which are many
	turnAway    func(TurnedAway)

	changed chan struct{} // has a place: somebody left, or became idle
	closed  chan struct{}
	once    sync.Once

	mu        sync.Mutex // guards what follows
	open      int
	idle      list.List // of *guest, longest first
	addresses map[string]*address
}

// address is who has connections.
type address struct {
	open int
	idle list.List // of *guest, longest first
}

// guest is a connection in the crowd.
type guest struct {
	net.Conn
	crowd *crowd
	from  string // empty if nobody bounds its address
	// What follows is guarded by the crowd's mutex.
	gone bool
	// waits are its places among the idle: in all and of its address. nil while a request is answered,
	// and once it is closed.
	waits [2]*list.Element
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.crowd.mu.Lock()
	g.crowd.leave(g)
	g.crowd.mu.Unlock()
	return g.Conn.Close()
}

func newCrowd(listener net.Listener, most, share int, exempt []netip.Prefix) *crowd {
	return &crowd{
		Listener: listener, most: most, share: share, exempt: exempt, changed: make(chan struct{}, 1),
		closed:   make(chan struct{}),
		turnAway: func(TurnedAway) {}, addresses: map[string]*address{},
	}
}

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g, full := c.admit(conn)
		for ; full; g, full = c.admit(conn) {
			select {
			case <-c.changed:
			case <-c.closed:
				_ = conn.Close()
				return nil, net.ErrClosed
			}
		}
		if g != nil {
			return g, nil
		}
		_ = conn.Close()
	}
}

// Close implements net.Listener.
func (c *crowd) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// admit gives a connection a place, at the cost of an idle one if there is none. nil if all places
// are taken, and full, or if its address has all that it may.
func (c *crowd) admit(conn net.Conn) (g *guest, full bool) {
	g = &guest{Conn: conn, crowd: c, from: c.addressOf(conn)}
	goes, full, over := c.enter(g)
	switch {
	case over:
		c.turnAway(ConnectionRefused)
		return nil, false
	case full:
		return nil, true
	case goes != nil:
		c.turnAway(ConnectionReplaced)
		_ = goes.Conn.Close() // its server notices
	}
	return g, false
}

// enter counts a connection in, and tells which one has to go for it, if any.
func (c *crowd) enter(g *guest) (goes *guest, full, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.addresses[g.from]
	switch {
	case g.from != "" && from != nil && from.open >= c.share:
		if goes = oldest(&from.idle); goes == nil {
			return nil, false, true
		}
	case c.open >= c.most:
		if goes = oldest(&c.idle); goes == nil {
			return nil, true, false
		}
	}
	if goes != nil {
		c.leave(goes)
	}
	if g.from != "" {
		if from = c.addresses[g.from]; from == nil {
			from = &address{}
			c.addresses[g.from] = from
		}
		from.open++
	}
	c.open++
	c.rest(g)
	return goes, false, false
}

func oldest(idle *list.List) *guest {
	if front := idle.Front(); front != nil {
		return front.Value.(*guest)
	}
	return nil
}

// addressOf is what a connection's share goes by: an IPv4 address, or the network of an IPv6 one.
func (c *crowd) addressOf(conn net.Conn) string {
	address, ok := netip.Addr{}, false
	if remote := conn.RemoteAddr(); remote != nil {
		address, ok = parseIP(remote.String())
	}
	if c.share <= 0 || !ok || within(address, c.exempt) {
		return ""
	}
	return network(address)
}

// state is told of the connections' states by their server.
func (c *crowd) state(conn net.Conn, state http.ConnState) {
	g, ours := conn.(*guest)
	if !ours {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateActive, http.StateHijacked:
		c.wake(g)
	case http.StateIdle:
		c.wake(g)
		c.rest(g)
		c.notify()
	}
}

// rest puts a connection at the end of the idle ones, unless it has left. The caller holds the
// mutex.
func (c *crowd) rest(g *guest) {
	if g.gone {
		return
	}
	g.waits[0] = c.idle.PushBack(g)
	if from := c.addresses[g.from]; from != nil {
		g.waits[1] = from.idle.PushBack(g)
	}
}

// wake takes a connection from among the idle ones. The caller holds the mutex.
func (c *crowd) wake(g *guest) {
	if g.waits[0] != nil {
		c.idle.Remove(g.waits[0])
	}
	if g.waits[1] != nil {
		c.addresses[g.from].idle.Remove(g.waits[1])
	}
	g.waits = [2]*list.Element{}
}

// leave gives a connection's place back, once. The caller holds the mutex.
func (c *crowd) leave(g *guest) {
	if g.gone {
		return
	}
	c.wake(g)
	g.gone = true
	c.open--
	if from := c.addresses[g.from]; from != nil {
		if from.open--; from.open == 0 {
			delete(c.addresses, g.from)
		}
	}
	c.notify()
}

// notify wakes who waits for a place.
func (c *crowd) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}
