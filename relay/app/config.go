// Package app puts the relay together: Config says what is wanted, wire.go draws every arrow between the rooms, Run keeps them going.
package app

import (
	"errors"
	"log/slog"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// Config is what a relay needs to know. Validate fills in the defaults that are named here.
type Config struct {
	// Listen is the host:port of the public API; port 0 takes a free one.
	Listen string
	// BeaconURLs are the beacon nodes to follow and to publish to; at least one.
	BeaconURLs []string
	// Key signs bids; its public key is the relay's identity.
	Key *bls.SecretKey
	// DataDir keeps journal, escrow, guard and archive; empty keeps them in memory, which is for tests and devnets only: without a disk
	// a restart forgets which slots were delivered.
	DataDir string
	// Validator executes blocks.
	Validator exec.Validator
	// ValidatorLive says whether the validator can execute blocks now; nil means always. Without it no bid is taken on trust.
	ValidatorLive func() bool
	// Builders are the builders that are treated in a way of their own.
	Builders []relay.Builder
	// Clock is the real one unless a devnet brings its own.
	Clock clock.Clock
	// HeaderCutOff is how far into a slot headers are served (chain time): 3 s. Negative serves always.
	HeaderCutOff time.Duration
	// PayloadCutOff is how far into a slot blinded blocks are taken (chain time): 4 s. Negative takes them always.
	PayloadCutOff time.Duration
	// RevealDelay is how long a v1 answer is held back after publishing (chain time): 1 s. Negative is none.
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
	// NoCancellations refuses ?cancellations=1.
	NoCancellations bool
	// Observe, if set, is told every fact as it happens. It must not block.
	Observe func(relay.Fact)
	Log     *slog.Logger
}

// Validate fills in defaults and says what is missing.
func (c *Config) Validate() error {
	switch {
	case c.Listen == "":
		return errors.New("relay: no address to listen on")
	case len(c.BeaconURLs) == 0:
		return errors.New("relay: no beacon node")
	case c.Key == nil:
		return errors.New("relay: no key to sign bids with")
	case c.Validator == nil:
		return errors.New("relay: nothing to validate blocks with")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Executors == 0 {
		c.Executors = 2
	}
	for field, value := range map[*time.Duration]time.Duration{
		&c.HeaderCutOff: 3 * time.Second, &c.PayloadCutOff: 4 * time.Second, &c.RevealDelay: time.Second,
		&c.HeaderPayloadTimeout: time.Second,
		&c.ValidationTimeout:    3 * time.Second, &c.PublishTimeout: 4 * time.Second, &c.StartTimeout: 30 * time.Second,
	} {
		if *field == 0 {
			*field = value
		}
		*field = max(*field, 0)
	}
	return nil
}
