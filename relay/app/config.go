// Package app puts the relay together: Config says what is wanted, wire.go draws every arrow
// between the rooms, Run keeps them going.
package app

import (
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// Config is what a relay needs to know. Validate fills in the defaults that are named here.
type Config struct {
	// Network is the name of a public network, which the beacon node must be on, or eth.Custom: that
	// one is asked no question.
	Network string
	// BeaconURLs are the beacon nodes to follow and to publish to; at least one.
	BeaconURLs []string
	// Key signs bids; its public key is the relay's identity.
	Key *bls.SecretKey
	// AdminToken opens the admin API; without one there is none.
	AdminToken string
	// Webhooks are told of what an operator should know at once.
	Webhooks []string
	// DataDir keeps journal, escrow, guard and archive; empty keeps them in memory, which is for tests
	// and devnets only: without a disk a restart forgets which slots were delivered.
	DataDir string
	// Database is the URL of the archive (see store.Open); empty is a SQLite file in DataDir.
	Database string
	// ReceivedFor is how long received blocks stay in the archive (wall time); 0 is for ever.
	// Deliveries and registrations always do.
	ReceivedFor time.Duration
	// Journal is where facts, escrow and guard are; its Dir follows from DataDir.
	Journal journal.Config
	// Validator executes blocks.
	Validator exec.Validator
	// ValidatorLive says whether the validator can execute blocks now; nil means always. Without it no
	// bid is taken on trust.
	ValidatorLive func() bool
	// Builders are the builders that are treated in a way of their own.
	Builders []relay.Builder
	// Clock is the real one unless a devnet brings its own.
	Clock clock.Clock
	// HeaderCutOff is how far into a slot headers are served (chain time): 3 s. Negative serves
	// always.
	HeaderCutOff time.Duration
	// PayloadCutOff is how far into a slot blinded blocks are taken (chain time): 4 s. Negative takes
	// them always.
	PayloadCutOff time.Duration
	// RevealDelay is how long a v1 answer is held back after publishing (chain time): 1 s. Negative is
	// none.
	RevealDelay time.Duration
	// ValidationTimeout bounds the execution of a submission (wall time): 3 s.
	ValidationTimeout time.Duration
	// HeaderPayloadTimeout is how long the payload of a header may take to follow (chain time): 1 s.
	HeaderPayloadTimeout time.Duration
	// Executors is how many blocks that were taken on trust are executed at a time: 2.
	Executors int
	// PublishTimeout bounds the publication of a block (wall time): 4 s.
	PublishTimeout time.Duration
	// StartTimeout is how long to wait for a beacon node at start (wall time): 30 s.
	StartTimeout time.Duration
	// StaleAfter is how old the newest head may be before the relay calls itself not ready (chain
	// time): 5 min.
	StaleAfter time.Duration
	// HeaderDelay is how far into the slot a header may be held back for a client that says how long
	// it waits (chain time): none.
	HeaderDelay time.Duration
	// TopBidListeners may follow the leading bids at a time: 1,000. TopBidsNeedKey lets only builders
	// with an API key do so.
	TopBidListeners int
	TopBidsNeedKey  bool
	// TopBidListenersPerClient are those of one address, or of one builder with an API key: 20. A
	// quarter of the places is for builders.
	TopBidListenersPerClient int
	// TopBidQueue is how many records such a listener may be behind before it is cut: 256.
	TopBidQueue int
	// TraceEndpoint is the URL of an OpenTelemetry collector (OTLP over HTTP); empty for none.
	TraceEndpoint string
	// Limits bound what clients can take.
	Limits Limits
	// Literal does what the interface description says (docs/differences.md): no bid is offered before
	// its block was executed, whatever Builders say.
	Literal bool
	// RecordRefused makes facts also of what strangers sent in vain, see submit.Config and
	// deliver.Config: for laboratories, since anybody can send it.
	RecordRefused bool
	// NoCancellations refuses ?cancellations=1.
	NoCancellations bool
	// Observe, if set, is told every fact in the order of the journal, a moment after it happened.
	// Facts wait for it.
	Observe func(relay.Fact)
	Log     *slog.Logger
}

// Limits bound what clients can take. A zero takes the default that is named, a negative number of
// requests is no bound.
type Limits struct {
	// PerSecond and Burst are the requests of one client address: 200 a second, 400 at once.
	PerSecond, Burst int
	// BuilderPerSecond and BuilderBurst are the requests of one builder with an API key, from whatever
	// address: 500 and 1,000.
	BuilderPerSecond, BuilderBurst int
	// TrustedProxies may say in X-Forwarded-For whom they forward.
	TrustedProxies []netip.Prefix
	// BodyBytes is the memory for bodies that are being read and worked on: 256 MiB, and never less
	// than 64 MiB.
	BodyBytes int64
	// BodyBytesPerSecond have to come of each body after its first second: 64,000. Negative is no
	// bound.
	BodyBytesPerSecond int64
	// Connections that may be open: 8,192.
	Connections int
	// ConnectionsPerAddress are those of one address: 1,024; trusted proxies have no bound.
	ConnectionsPerAddress int
	// Linger is how long requests are still taken after the stop, with /readyz at 503: none.
	Linger time.Duration
}

func (l *Limits) validate() {
	for field, value := range map[*int]int{
		&l.PerSecond: 200, &l.Burst: 400, &l.BuilderPerSecond: 500, &l.BuilderBurst: 1000, &l.Connections: 8192,
		&l.ConnectionsPerAddress: 1024,
	} {
		if *field == 0 {
			*field = value
		}
		*field = max(*field, 0)
	}
	if l.BodyBytes == 0 {
		l.BodyBytes = 256 << 20
	}
	if l.BodyBytesPerSecond == 0 {
		l.BodyBytesPerSecond = 64_000
	}
}

// Validate fills in defaults and says what is missing.
func (c *Config) Validate() error {
	switch {
	case len(c.BeaconURLs) == 0:
		return errors.New("relay: no beacon node")
	case c.Key == nil:
		return errors.New("relay: no key to sign bids with")
	case c.Validator == nil:
		return errors.New("relay: nothing to validate blocks with")
	}
	if c.Network == "" {
		c.Network = eth.Custom
	}
	c.Limits.validate()
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for field, value := range map[*int]int{&c.Executors: 2, &c.TopBidListeners: 1000, &c.TopBidListenersPerClient: 20,
		&c.TopBidQueue: 256} {
		if *field == 0 {
			*field = value
		}
	}
	for field, value := range map[*time.Duration]time.Duration{
		&c.HeaderCutOff: 3 * time.Second, &c.PayloadCutOff: 4 * time.Second, &c.RevealDelay: time.Second,
		&c.HeaderPayloadTimeout: time.Second,
		&c.ValidationTimeout:    3 * time.Second, &c.PublishTimeout: 4 * time.Second, &c.StartTimeout: 30 * time.Second,
		&c.StaleAfter: 5 * time.Minute,
	} {
		if *field == 0 {
			*field = value
		}
		*field = max(*field, 0)
	}
	return nil
}
