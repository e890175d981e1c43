// Package app puts the relay together: Config is what the operator wants, wire.go connects the
// packages, and Serve runs them.
package app

import (
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
)

// Config is what a relay needs to know. Validate fills in the defaults, which stand behind the
// colons here.
type Config struct {
	// Network is the name of a public network, which the beacon node must be on; or eth.Custom, which
	// is not compared with anything.
	Network string
	// BeaconURLs are the beacon nodes to follow and to publish to; at least one.
	BeaconURLs []string
	// Key signs bids; its public key is the relay's identity.
	Key *bls.SecretKey
	// AdminToken is the token of the admin API; without one there is no admin API.
	AdminToken string
	// Settings is the effective configuration without secrets, as the operator's page shows it; empty
	// if it is not known.
	Settings string
	// Webhooks get the alerts: what an operator should know at once.
	Webhooks []string
	// DataDir is the folder of journal, escrow, guard and archive. If it is empty, they are in memory.
	// This is for tests and devnets only, since a restart then forgets which slots were delivered.
	DataDir string
	// Database is the URL of the archive (see projection.OpenDatabase); empty is a SQLite file in
	// DataDir.
	Database string
	// ReceivedFor is how long received blocks stay in the archive (wall time); 0 is for ever.
	// Deliveries and registrations always stay for ever.
	ReceivedFor time.Duration
	// Journal configures where facts, escrow and guard are; its Dir follows from DataDir.
	Journal journal.Config
	// Validator executes blocks.
	Validator exec.Validator
	// ValidatorLive says whether the validator can execute blocks now; nil means always. While it
	// cannot, no bid is accepted optimistically.
	ValidatorLive func() bool
	// ValidationNodes says of each node that executes blocks, by host and port, whether it answers;
	// nil if there are none.
	ValidationNodes func() map[string]bool
	// Builders are the builders that the operator lists, with how each is treated.
	Builders []relay.Builder
	// Gloas is the relay's staked builder, under whose key it bids from gloas on; nil if it has none.
	Gloas *Gloas
	// Clock is the chain's clock; nil means the real one. A devnet may set its own.
	Clock clock.Clock
	// HeaderCutOff is how far into a slot headers are served (chain time): 3 s. Negative means always.
	HeaderCutOff time.Duration
	// PayloadCutOff is how far into a slot blinded blocks are accepted (chain time): 4 s. Negative
	// means always.
	PayloadCutOff time.Duration
	// RevealDelay is how long a v1 answer is held back after publishing (chain time): 1 s. Negative
	// means not at all.
	RevealDelay time.Duration
	// ValidationTimeout bounds the execution of a submission (wall time): 3 s.
	ValidationTimeout time.Duration
	// HeaderPayloadTimeout is how long the payload of a header may take to follow (chain time): 1 s.
	HeaderPayloadTimeout time.Duration
	// Executors is how many blocks that were accepted optimistically are executed at a time: 2.
	Executors int
	// PublishTimeout bounds the publication of a block (wall time): 4 s.
	PublishTimeout time.Duration
	// StartTimeout is how long to wait for a beacon node at start (wall time): 30 s.
	StartTimeout time.Duration
	// StaleAfter is how old the newest head may be before /readyz says not ready (chain time): 5 min.
	StaleAfter time.Duration
	// HeaderDelay is how far into the slot a header may be held back for a client that says how long
	// it waits (chain time): none.
	HeaderDelay time.Duration
	// TopBidListeners is how many listeners may follow the top bids at a time: 1,000. TopBidsNeedKey
	// allows this only to builders with an API key.
	TopBidListeners int
	TopBidsNeedKey  bool
	// TopBidListenersPerClient is how many listeners one address, or one builder with an API key, may
	// have: 20. A quarter of all places is for builders only.
	TopBidListenersPerClient int
	// TopBidQueue is how many records a listener may be behind before it is cut: 256.
	TopBidQueue int
	// TraceEndpoint is the URL of an OpenTelemetry collector (OTLP over HTTP); empty for none.
	TraceEndpoint string
	// Region is the operator's name of the place where this runs, for the metrics; it may be empty.
	Region string
	// Limits bound what clients can use of the relay.
	Limits Limits
	// Literal follows the interface descriptions to the letter (docs/differences.md): no bid counts
	// before its block was executed, even if Builders allow it.
	Literal bool
	// RecordRefused makes facts also of refusals and bids that are otherwise only counted, see
	// Unrecorded in submit.Config and deliver.Config. It is for experiments: on a public relay anybody
	// could fill the journal.
	RecordRefused bool
	// Website serves pages about the relay, its auctions, builders and proposers beside the public
	// API. WebsiteHideLosing holds back values of bids that do not lead while their auction runs.
	Website, WebsiteHideLosing bool
	// NoCancellations refuses ?cancellations=1.
	NoCancellations bool
	// Observe, if set, is called for every fact in the order of the journal, a moment after it
	// happened. Further facts are not written while it runs.
	Observe func(relay.Fact)
	Log     *slog.Logger
}

// Gloas is a staked builder of the beacon chain that bids for the relay.
type Gloas struct {
	Index gloas.BuilderIndex
	Key   *bls.SecretKey
	// AuthData are the values of auth.message.data by which proposers address this relay; at least
	// one.
	AuthData [][]byte
	// SharePercent is how much of a bid the builder pays from its stake, in addition to what the
	// block pays: 0 to 100.
	SharePercent uint64
	// StakedBids takes bids that other staked builders have signed themselves.
	StakedBids bool
}

// validate says what is missing.
func (g *Gloas) validate() error {
	switch {
	case g == nil:
		return nil
	case g.Key == nil:
		return errors.New("relay: the staked builder has no key")
	case len(g.AuthData) == 0:
		return errors.New("relay: the staked builder has no auth data")
	case g.SharePercent > 100:
		return errors.New("relay: more than all of a bid cannot be paid from the stake")
	}
	return nil
}

// Limits bound what clients can use of the relay. 0 means the default, which stands behind the
// colon. A negative number of requests means no bound.
type Limits struct {
	// PerSecond and Burst bound the requests of one client address: 200 a second, 400 at once.
	PerSecond, Burst int
	// BuilderPerSecond and BuilderBurst bound the requests of one builder with an API key, from all of
	// its addresses together: 500 and 1,000.
	BuilderPerSecond, BuilderBurst int
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// BodyBytes is the memory for bodies that are being read or worked on: 256 MiB, and never less
	// than 64 MiB.
	BodyBytes int64
	// BodyBytesPerSecond is how fast each body has to arrive after its first second: 64,000. Negative
	// means no bound.
	BodyBytesPerSecond int64
	// Connections is how many may be open at a time: 8,192.
	Connections int
	// ConnectionsPerAddress is how many of them one address may have: 1,024. Trusted proxies have no
	// bound.
	ConnectionsPerAddress int
	// Linger is how long requests are still accepted after the stop begins, with /readyz at 503: 0.
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
	if err := c.Gloas.validate(); err != nil {
		return err
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
