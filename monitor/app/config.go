// Package app is the relay monitor. In each slot it asks relays and a beacon node by their public
// interfaces. Package monitor judges the answers, and app reports the findings.
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

// Config says what a monitor watches, and how.
type Config struct {
	// Relays are URLs with the relay's key in the user part, as mev-boost has them
	// (https://0xkey@host). Without a key any signer is right.
	Relays []string
	// Names are the relays' names in reports, in the order of Relays. Without Names reports show
	// hosts.
	Names []string
	// BeaconURLs are the beacon nodes that the chain is read from; at least one.
	BeaconURLs []string
	// AskAt are the times relative to the slot's start at which headers are asked for, in chain
	// time. The default is half a second before the start.
	AskAt []time.Duration
	// Patience is how long proposers wait for a header (wall time); 0 is 950 ms. An answer that
	// takes longer is a finding.
	Patience time.Duration
	// Timeout bounds a request (wall time); 0 is 3 s.
	Timeout time.Duration
	// Clock is chain time; nil is the real clock.
	Clock clock.Clock
	// Found, if set, is called with each finding. It must not block.
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

// parseRelay splits a relay's URL into the address and the key.
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
