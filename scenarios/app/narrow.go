package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/gavel-relay/gavel/scenarios/plan"
)

// Where somebody listens without reading, both ends of its connection keep little, and so do the
// queues of who tells it: else the system would swallow more than a story has to say, and nobody
// would be behind.
const (
	// narrowBytes is what each end keeps; the system makes some more of it.
	narrowBytes = 2 << 10
	// narrowStream is the stream's queue in bytes, narrowTops a relay's in records.
	narrowStream = 256 << 10
	narrowTops   = 4
)

// stalls says whether somebody with such a strategy listens without reading.
func stalls(strategy []plan.Move) bool { return moves(strategy).has("stall") }

// searchersStall says whether a searcher of the plan does not read for a while, buildersStall the
// same of builders.
func (l *lab) searchersStall() bool {
	return slices.ContainsFunc(l.plan.Searchers, func(p plan.SearcherPlan) bool { return stalls(p.Strategy) })
}

func (l *lab) buildersStall() bool {
	return slices.ContainsFunc(l.plan.Builders, func(p plan.BuilderPlan) bool { return stalls(p.Strategy) })
}

// narrow is a listener whose connections keep little of what is written.
type narrow struct{ net.Listener }

func newNarrow(l net.Listener) net.Listener { return narrow{l} }

// Accept implements net.Listener.
func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(narrowBytes) // fails only if the connection is gone, which its user finds out
	}
	return conn, nil
}

// narrowClient has connections that keep little of what is not read.
func narrowClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: dialNarrow}}
}

func dialNarrow(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Control: keepLittle}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial narrowly: %w", err)
	}
	return conn, nil
}
