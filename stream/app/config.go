// Package app puts the event stream together: Config says what is wanted, wire.go connects the
// packages, and Run runs them.
package app

import (
	"cmp"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/history"
)

// Config configures the service. Zero values stand for the defaults named here; Validate fills them
// in.
type Config struct {
	// Journal says where the facts of the bundle RPC are. A journal by URL is opened read-only.
	// Without a URL it is in this process, for a process that also runs the bundle RPC, and for
	// trials.
	Journal journal.Config
	// Source, if set, is an open journal, which is used instead of Journal. The App does not close
	// it.
	Source *journal.Journal
	// DataDir is the folder of journal and history; empty keeps them in memory.
	DataDir string
	// Database is the URL of the history's database (see projection.OpenDatabase); empty is a SQLite
	// file in DataDir.
	Database string
	// Retention says what the history keeps; the zero value keeps everything.
	Retention history.Retention
	// Hints is what the operator shows beside what senders share; nil is stream.DefaultHints.
	Hints *stream.HintConfig
	// MaxLimit is how many events a page of the history has at most; 0 is 500.
	MaxLimit int
	// Origin is the value of Access-Control-Allow-Origin; empty is *, which lets pages of any
	// origin read.
	Origin string
	// Network is the network's name on the page; it may be empty.
	Network string
	// Ping is how long a connection is silent before a ping; 0 is 15 s.
	Ping time.Duration
	// TraceEndpoint is the URL of an OpenTelemetry collector (OTLP over HTTP); empty for none.
	TraceEndpoint string
	// Region is the operator's name of the place where this runs, for the metrics; it may be empty.
	Region string
	// Limits bound what clients can use.
	Limits Limits
	// Clock is chain time; nil is the real clock.
	Clock clock.Clock
	Log   *slog.Logger
}

// Limits bound what clients can use. Zero values stand for the defaults named here.
type Limits struct {
	// Listeners is how many listeners may be connected; 0 is 10,000.
	Listeners int
	// QueueBytes is how far a listener may be behind before it is cut; 0 is 4 MiB.
	QueueBytes int
	// EventBytes bounds an event's JSON. A longer event is stored, but not streamed. 0 is no bound.
	EventBytes int
	// ListenersPerAddress bounds the listeners of one address; 0 is 100.
	ListenersPerAddress int
	// PerSecond and Burst bound the requests of one address; 0 is 200 a second and 400 at once. A
	// negative PerSecond is no bound.
	PerSecond, Burst int
	// Connections is how many connections may be open; 0 is Listeners plus 1,024.
	Connections int
	// ConnectionsPerAddress bounds the connections of one address; 0 is 1,024. Trusted proxies have
	// no bound.
	ConnectionsPerAddress int
	// TrustedProxies may name their clients in X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// Linger is how long requests are still accepted after the stop, while /readyz answers 503.
	Linger time.Duration
}

// Validate fills in defaults, and returns an error for contradictions.
func (c *Config) Validate() error {
	if c.Journal.URL != "" && c.Journal.Listen != "" {
		return errors.New("stream: a journal elsewhere cannot listen here")
	}
	if c.Hints == nil {
		standard := stream.DefaultHints()
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
