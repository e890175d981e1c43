// Package app is the relay monitor: it asks relays and a beacon node what everybody may ask, slot
// by slot, has monitor judge the answers, and reports what it finds.
//
//	before slot n:      beacon node ─duty, head─▶ ask every relay for its header, at the configured times
//	after slot n:       beacon node ─block─▶ ask every relay what it has delivered, and the proposer's registration
//	                                 └─▶ findings ─▶ GET /v1/relays, GET /v1/findings, /metrics, the log
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/monitor"
)

// Config is what a monitor needs to know.
type Config struct {
	// Relays are URLs, with the relay's key in the user part as sidecars have them
	// (https://0xkey@host); without a key any signer is right.
	Relays []string
	// Names stand for relays in reports, in the order of Relays; without them hosts do.
	Names []string
	// BeaconURLs are beacon nodes to learn the chain from; at least one.
	BeaconURLs []string
	// AskAt are the times against the slot's start at which headers are asked for: half a second
	// before it. Chain time.
	AskAt []time.Duration
	// Patience is how long proposers wait for a header (wall time): 950 ms. An answer that takes
	// longer is a finding.
	Patience time.Duration
	// Timeout bounds a request (wall time): 3 s.
	Timeout time.Duration
	// Clock is the real one unless a lab brings its own.
	Clock clock.Clock
	// Found, if set, is told each finding. It may not block.
	Found func(monitor.Finding)
	Log   *slog.Logger
}

// Validate fills in defaults and says what is wrong.
func (c *Config) Validate() error {
	switch {
	case len(c.Relays) == 0:
		return errors.New("no relay to watch: give the URL of at least one")
	case len(c.BeaconURLs) == 0:
		return errors.New("no beacon node: give the URL of at least one")
	case len(c.Names) > 0 && len(c.Names) != len(c.Relays):
		return fmt.Errorf("%d names for %d relays", len(c.Names), len(c.Relays))
	}
	if len(c.AskAt) == 0 {
		c.AskAt = []time.Duration{-500 * time.Millisecond}
	}
	if c.Patience == 0 {
		c.Patience = 950 * time.Millisecond
	}
	if c.Timeout == 0 {
		c.Timeout = 3 * time.Second
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	named := len(c.Names) > 0
	for _, text := range c.Relays {
		address, _, err := parseRelay(text)
		if err != nil {
			return err
		}
		if !named {
			_, host, _ := strings.Cut(address, "://")
			c.Names = append(c.Names, host)
		}
	}
	return nil
}

// parseRelay takes the key out of a relay's URL.
func parseRelay(text string) (address string, key phase0.BLSPubKey, err error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", key, fmt.Errorf("relay %q: want https://0xkey@host", text)
	}
	if user := parsed.User.Username(); user != "" {
		if err := eth.ParseHex(user, key[:]); err != nil {
			return "", key, fmt.Errorf("relay %q: key: %w", text, err)
		}
	}
	parsed.User = nil
	return strings.TrimSuffix(parsed.String(), "/"), key, nil
}
