// Package app puts the event stream together: Config says what is wanted, wire.go draws every arrow
// between the rooms, Run keeps them going.
package app

import (
	"cmp"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/stream/hint"
	"github.com/gavel-relay/gavel/stream/history"
)

// Config is what the service needs to know. Validate fills in the defaults that are named here.
type Config struct {
	// Journal is where the facts of the bundle RPC are. By URL it is read only; without one it is in
	// this process, which is for a process that runs the bundle RPC too, and for trying things out.
	Journal journal.Config
	// Source, if set, is a journal that is open already; the App does not close it.
	Source *journal.Journal
	// DataDir keeps journal and history; empty keeps them in memory.
	DataDir string
	// Database is the URL of the history (see store.Open); empty is a SQLite file in DataDir.
	Database string
	// Retention is what the history keeps: everything.
	Retention history.Retention
	// Hints is what the operator shares beside what senders do: hint.DefaultConfig.
	Hints *hint.Config
	// MaxLimit is how many events a page of the history has at most: 500.
	MaxLimit int
	// Origin is whose pages may read, as Access-Control-Allow-Origin says it: *.
	Origin string
	// Network is named on the page for people; it may be empty.
	Network string
	// Ping is how long a connection is silent before a ping: 15 s.
	Ping time.Duration
	// TraceEndpoint is the URL of an OpenTelemetry collector (OTLP over HTTP); empty for none.
	TraceEndpoint string
	// Limits bound what listeners can take.
	Limits Limits
	// Clock is the real one unless a devnet brings its own.
	Clock clock.Clock
	Log   *slog.Logger
}

// Limits bound what listeners can take. A zero takes the default that is named.
type Limits struct {
	// Listeners that may be connected: 10,000.
	Listeners int
	// QueueBytes is how far a listener may be behind before it is cut: 4 MiB.
	QueueBytes int
	// EventBytes bounds an event's JSON: a longer one is stored, but not streamed. 0 is no bound.
	EventBytes int
	// ListenersPerAddress are those of one address: 100.
	ListenersPerAddress int
	// PerSecond and Burst are the requests of one address: 200 a second, 400 at once. Negative is no
	// bound.
	PerSecond, Burst int
	// Connections that may be open: those of all listeners and 1,024 more.
	Connections int
	// ConnectionsPerAddress are those of one address: 1,024; trusted proxies have no bound.
	ConnectionsPerAddress int
	// TrustedProxies may say in X-Forwarded-For whom they forward.
	TrustedProxies []netip.Prefix
	// Linger is how long requests are still taken after the stop, with /readyz at 503: none.
	Linger time.Duration
}

// Validate fills in defaults and says what makes no sense.
func (c *Config) Validate() error {
	if c.Journal.URL != "" && c.Journal.Listen != "" {
		return errors.New("stream: a journal elsewhere cannot listen here")
	}
	if c.Hints == nil {
		standard := hint.DefaultConfig()
		c.Hints = &standard
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.MaxLimit = cmp.Or(c.MaxLimit, 500)
	c.Origin = cmp.Or(c.Origin, "*")
	c.Ping = cmp.Or(c.Ping, 15*time.Second)
	c.Limits.Listeners = cmp.Or(c.Limits.Listeners, 10_000)
	c.Limits.ListenersPerAddress = cmp.Or(c.Limits.ListenersPerAddress, 100)
	c.Limits.PerSecond = cmp.Or(c.Limits.PerSecond, 200)
	c.Limits.Burst = cmp.Or(c.Limits.Burst, 400)
	c.Limits.QueueBytes = cmp.Or(c.Limits.QueueBytes, 4<<20)
	c.Limits.ConnectionsPerAddress = cmp.Or(c.Limits.ConnectionsPerAddress, 1024)
	c.Limits.Connections = cmp.Or(c.Limits.Connections, c.Limits.Listeners+1024)
	return nil
}
