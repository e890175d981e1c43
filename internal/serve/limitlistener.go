package serve

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// limitListener is a listener that bounds the open connections, in all and of one address. If there
// is no place, it closes the connection that has been idle longest for the new one. It never closes
// a connection with a request on it.
//
//	new ─┬─ its address has its share ─▶ the address's longest idle goes ─┬─▶ in
//	     │                               └─ none is idle: the new one is closed
//	     └─ all places are taken ──────▶ the longest idle of all goes ────┴─▶ in
//	                                     └─ none is idle: it waits until one is
//
// A connection is idle until its first request comes, and between requests. The listener is safe
// for concurrent use.
type limitListener struct {
	net.Listener
	most, share int            // share 0 for no bound
	exempt      []netip.Prefix // proxies, each of which has many clients
	turnAway    func(TurnedAway)

	changed chan struct{} // gets a value when a connection is closed or becomes idle
	closed  chan struct{}
	once    sync.Once

	mu        sync.Mutex // guards what follows
	open      int
	idle      list.List // of *limitedConn, longest first
	addresses map[string]*address
}

// address is an address with open connections.
type address struct {
	open int
	idle list.List // of *limitedConn, longest first
}

// limitedConn is an open connection that the listener counts.
type limitedConn struct {
	net.Conn
	listener *limitListener
	from     string // empty if its address has no bound
	// The listener's mutex guards what follows.
	gone bool
	busy bool // while a request is answered
	// waits are its elements in the lists of idle connections: of all, and of its address. A busy
	// connection may stay in a list until oldest comes to it, and moves to the end when it is idle
	// again, since thousands become busy and idle for each that has to go. They are nil after the
	// connection is closed.
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

// admit gives a connection a place, that of an idle one if none is free. It returns nil and full if
// all places are taken, and nil alone if the address has its share.
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
		_ = goes.Conn.Close() // its server notices that
	}
	return c, false
}

// enter counts a connection, and returns the idle one to close for it, if any.
func (l *limitListener) enter(c *limitedConn) (goes *limitedConn, full, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.addresses[c.from]
	switch {
	case c.from != "" && from != nil && from.open >= l.share:
		if goes = oldest(&from.idle, ofAddress); goes == nil {
			return nil, false, true
		}
	case l.open >= l.most:
		if goes = oldest(&l.idle, ofAll); goes == nil {
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

// ofAll and ofAddress are the places of the two lists in waits.
const (
	ofAll = iota
	ofAddress
)

// oldest returns the connection that has been idle longest, nil if there is none. It removes the
// busy ones before it, each of which was put there once.
func oldest(idle *list.List, place int) *limitedConn {
	for front := idle.Front(); front != nil; front = idle.Front() {
		c := front.Value.(*limitedConn)
		if !c.busy {
			return c
		}
		idle.Remove(front)
		c.waits[place] = nil
	}
	return nil
}

// addressOf is the address whose share a connection counts for: an IPv4 address, or the network of
// an IPv6 one.
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

// state is called by the server with each new state of a connection.
func (l *limitListener) state(conn net.Conn, state http.ConnState) {
	c, ours := conn.(*limitedConn)
	if !ours {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateActive, http.StateHijacked:
		c.busy = true
	case http.StateIdle:
		l.markIdle(c)
		l.notify()
	}
}

// markIdle makes a connection the last of the idle ones, unless it is closed. The caller holds the
// mutex.
func (l *limitListener) markIdle(c *limitedConn) {
	if c.gone {
		return
	}
	c.busy = false
	c.waits[ofAll] = last(&l.idle, c.waits[ofAll], c)
	if from := l.addresses[c.from]; from != nil {
		c.waits[ofAddress] = last(&from.idle, c.waits[ofAddress], c)
	}
}

// last moves a connection's element to the end of a list, or adds one, and returns it.
func last(list *list.List, element *list.Element, c *limitedConn) *list.Element {
	if element == nil {
		return list.PushBack(c)
	}
	list.MoveToBack(element)
	return element
}

// forget removes a connection from the lists of idle ones. The caller holds the mutex.
func (l *limitListener) forget(c *limitedConn) {
	if c.waits[ofAll] != nil {
		l.idle.Remove(c.waits[ofAll])
	}
	if c.waits[ofAddress] != nil {
		l.addresses[c.from].idle.Remove(c.waits[ofAddress])
	}
	c.waits = [2]*list.Element{}
}

// leave gives a connection's place back, once. The caller holds the mutex.
func (l *limitListener) leave(c *limitedConn) {
	if c.gone {
		return
	}
	l.forget(c)
	c.gone = true
	l.open--
	if from := l.addresses[c.from]; from != nil {
		if from.open--; from.open == 0 {
			delete(l.addresses, c.from)
		}
	}
	l.notify()
}

// notify wakes Accept if it waits for a place.
func (l *limitListener) notify() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}
