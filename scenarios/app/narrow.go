package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/gavel-relay/gavel/scenarios"
)

// Limits for connections to a client that does not read. Otherwise the system's buffers and the
// services' queues would hold more data than a scenario sends, and the client would never fall
// behind.
const (
	// narrowBytes is the buffer of each end of a connection; the system may use more.
	narrowBytes = 2 << 10
	// narrowStream is the event stream's queue for a client in bytes, narrowTops a relay's in
	// records.
	narrowStream = 256 << 10
	narrowTops   = 4
)

// stalls says whether an agent with this strategy stops reading for a while.
func stalls(strategy []scenarios.Move) bool { return moves(strategy).has("stall") }

// searchersStall says whether a searcher of the plan stops reading for a while, buildersStall the
// same of builders.
func (l *planRun) searchersStall() bool {
	return slices.ContainsFunc(l.plan.Searchers, func(p scenarios.SearcherPlan) bool { return stalls(p.Strategy) })
}

func (l *planRun) buildersStall() bool {
	return slices.ContainsFunc(l.plan.Builders, func(p scenarios.BuilderPlan) bool { return stalls(p.Strategy) })
}

// narrow is a listener whose connections have small send buffers.
type narrow struct{ net.Listener }

func newNarrow(l net.Listener) net.Listener { return narrow{l} }

// Accept implements net.Listener.
func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(narrowBytes) // it fails only if the connection is closed, which its user notices
	}
	return conn, nil
}

// narrowClient returns a client whose connections have small receive buffers.
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
