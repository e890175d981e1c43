// Package app puts the event stream together: Config says what is wanted, wire.go draws every arrow between the rooms, Run keeps them going.
package app

import (
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
	// Journal is where the facts of the bundle RPC are. By URL it is read only; without one it is in this process, which is for a process that runs the
	// bundle RPC too, and for trying things out.
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
	// PerSecond and Burst are the requests of one address: 200 a second, 400 at once. Negative is no bound.
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
	orElse(&c.MaxLimit, 500)
	orElse(&c.Origin, "*")
	orElse(&c.Ping, 15*time.Second)
	orElse(&c.Limits.Listeners, 10_000)
	orElse(&c.Limits.ListenersPerAddress, 100)
	orElse(&c.Limits.PerSecond, 200)
	orElse(&c.Limits.Burst, 400)
	orElse(&c.Limits.QueueBytes, 4<<20)
	orElse(&c.Limits.ConnectionsPerAddress, 1024)
	orElse(&c.Limits.Connections, c.Limits.Listeners+1024)
	return nil
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
