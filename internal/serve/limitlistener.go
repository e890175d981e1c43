package serve

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// limitListener is a listener that bounds the open connections, in all and of one address. When
// there is no place, the connection that has been idle longest is closed for the new one; a
// connection with a request on it never is.
//
//	new ─┬─ its address has its share ─▶ the address's longest idle goes ─┬─▶ in
//	     │                               └─ none is idle: the new one is closed
//	     └─ all places are taken ──────▶ the longest idle of all goes ────┴─▶ in
//	                                     └─ none is idle: it waits until one is
//
// A connection is idle from the beginning, until a request comes, and between requests. It is safe
// for concurrent use.
type limitListener struct {
	net.Listener
	most, share int            // share 0 for no bound
	exempt      []netip.Prefix // proxies, behind which are many
	turnAway    func(TurnedAway)

	changed chan struct{} // has a place: somebody left, or became idle
	closed  chan struct{}
	once    sync.Once

	mu        sync.Mutex // guards what follows
	open      int
	idle      list.List // of *limitedConn, longest first
	addresses map[string]*address
}

// address is who has connections.
type address struct {
	open int
	idle list.List // of *limitedConn, longest first
}

// limitedConn is an open connection that counts.
type limitedConn struct {
	net.Conn
	listener *limitListener
	from     string // empty if nobody bounds its address
	// What follows is guarded by the listener's mutex.
	gone bool
	// waits are its places among the idle: in all and of its address. nil while a request is answered,
	// and once it is closed.
	waits [2]*list.Element
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.leave(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

func newLimitListener(listener net.Listener, most, share int, exempt []netip.Prefix) *limitListener {
	return &limitListener{
		Listener: listener, most: most, share: share, exempt: exempt, changed: make(chan struct{}, 1),
		closed:   make(chan struct{}),
		turnAway: func(TurnedAway) {}, addresses: map[string]*address{},
	}
}

// Accept implements net.Listener.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, full := l.admit(conn)
		for ; full; c, full = l.admit(conn) {
			select {
			case <-l.changed:
			case <-l.closed:
				_ = conn.Close()
				return nil, net.ErrClosed
			}
		}
		if c != nil {
			return c, nil
		}
		_ = conn.Close()
	}
}

// Close implements net.Listener.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// admit gives a connection a place, at the cost of an idle one if there is none. nil if all places
// are taken, and full, or if its address has all that it may.
func (l *limitListener) admit(conn net.Conn) (c *limitedConn, full bool) {
	c = &limitedConn{Conn: conn, listener: l, from: l.addressOf(conn)}
	goes, full, over := l.enter(c)
	switch {
	case over:
		l.turnAway(ConnectionRefused)
		return nil, false
	case full:
		return nil, true
	case goes != nil:
		l.turnAway(ConnectionReplaced)
		_ = goes.Conn.Close() // its server notices
	}
	return c, false
}

// enter counts a connection in, and tells which one has to go for it, if any.
func (l *limitListener) enter(c *limitedConn) (goes *limitedConn, full, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.addresses[c.from]
	switch {
	case c.from != "" && from != nil && from.open >= l.share:
		if goes = oldest(&from.idle); goes == nil {
			return nil, false, true
		}
	case l.open >= l.most:
		if goes = oldest(&l.idle); goes == nil {
			return nil, true, false
		}
	}
	if goes != nil {
		l.leave(goes)
	}
	if c.from != "" {
		if from = l.addresses[c.from]; from == nil {
			from = &address{}
			l.addresses[c.from] = from
		}
		from.open++
	}
	l.open++
	l.markIdle(c)
	return goes, false, false
}

func oldest(idle *list.List) *limitedConn {
	if front := idle.Front(); front != nil {
		return front.Value.(*limitedConn)
	}
	return nil
}

// addressOf is what a connection's share goes by: an IPv4 address, or the network of an IPv6 one.
func (l *limitListener) addressOf(conn net.Conn) string {
	address, ok := netip.Addr{}, false
	if remote := conn.RemoteAddr(); remote != nil {
		address, ok = parseIP(remote.String())
	}
	if l.share <= 0 || !ok || within(address, l.exempt) {
		return ""
	}
	return network(address)
}

// state is told of the connections' states by their server.
func (l *limitListener) state(conn net.Conn, state http.ConnState) {
	c, ours := conn.(*limitedConn)
	if !ours {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateActive, http.StateHijacked:
		l.markBusy(c)
	case http.StateIdle:
		l.markBusy(c)
		l.markIdle(c)
		l.notify()
	}
}

// markIdle puts a connection at the end of the idle ones, unless it has left. The caller holds the
// mutex.
func (l *limitListener) markIdle(c *limitedConn) {
	if c.gone {
		return
	}
	c.waits[0] = l.idle.PushBack(c)
	if from := l.addresses[c.from]; from != nil {
		c.waits[1] = from.idle.PushBack(c)
	}
}

// markBusy takes a connection from among the idle ones. The caller holds the mutex.
func (l *limitListener) markBusy(c *limitedConn) {
	if c.waits[0] != nil {
		l.idle.Remove(c.waits[0])
	}
	if c.waits[1] != nil {
		l.addresses[c.from].idle.Remove(c.waits[1])
	}
	c.waits = [2]*list.Element{}
}

// leave gives a connection's place back, once. The caller holds the mutex.
func (l *limitListener) leave(c *limitedConn) {
	if c.gone {
		return
	}
	l.markBusy(c)
	c.gone = true
	l.open--
	if from := l.addresses[c.from]; from != nil {
		if from.open--; from.open == 0 {
			delete(l.addresses, c.from)
		}
	}
	l.notify()
}

// notify wakes who waits for a place.
func (l *limitListener) notify() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}
