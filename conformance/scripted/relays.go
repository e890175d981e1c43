// Package scripted has relays that do what a spec tells them, for targets that are clients of
// relays. They check nothing: a spec decides what each of them answers about an auction, a block
// or a validator, and reads afterwards what they were sent. So specs do not disturb each other,
// although all share the same relays.
//
//	spec ─ On(endpoint, subject, answer) ─▶ Relay ◀─HTTP─ sidecar or builder under test ◀─HTTP─ spec
//	spec ◀─────── Heard(endpoint, subject) ──┘
package scripted

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
)

// Names are the names of the relays. Their keys are derived from them, and are always the same, so
// that a target may be configured before the run.
var Names = []string{"a", "b", "c"}

// Config says how relays listen.
type Config struct {
	Network Network
	// Listen is the host and port of the first relay; each further one listens at the next port.
	// If it is empty, all listen at free ports of 127.0.0.1.
	Listen string

	// Clock is by what relays tell when they were asked; nil means the wall clock, or that of
	// auctions.
	Clock clock.Clock

	// auctions are those that builders bid in; nil for relays of sidecars.
	auctions *Auctions
}

// Relays are running relays. They are safe for concurrent use.
type Relays struct {
	Network Network
	// All are the relays, in the order of Names.
	All []*Relay

	servers   []*http.Server
	listeners []net.Listener // of the servers, in their order
}

// Open starts the relays. The caller must call Close.
func Open(cfg Config) (*Relays, error) {
	r, err := listen(cfg)
	if err == nil {
		r.serve()
	}
	return r, err
}

// listen opens the relays' addresses. Who connects waits until they serve.
func listen(cfg Config) (_ *Relays, err error) {
	r := &Relays{Network: cfg.Network}
	defer func() {
		if err != nil {
			for _, listener := range r.listeners {
				err = errors.Join(err, listener.Close())
			}
		}
	}()
	for i, name := range Names {
		address, err := nth(cfg.Listen, i)
		if err != nil {
			return nil, err
		}
		listener, err := serve.Listen(address)
		if err != nil {
			return nil, err
		}
		relay := &Relay{Name: name, Key: probe.DeriveBLSKey("scripted relay " + name), address: listener.Addr().String(),
			clock: cfg.Clock, auctions: cfg.auctions}
		server := &http.Server{Handler: relay, ReadHeaderTimeout: 10 * time.Second}
		r.All, r.servers = append(r.All, relay), append(r.servers, server)
		r.listeners = append(r.listeners, listener)
	}
	return r, nil
}

func (r *Relays) serve() {
	for i, server := range r.servers {
		go func() { _ = server.Serve(r.listeners[i]) }() // Close ends it
	}
}

// nth returns the address of the relay with this index.
func nth(first string, index int) (string, error) {
	if first == "" {
		return "127.0.0.1:0", nil
	}
	host, port, err := net.SplitHostPort(first)
	if err != nil {
		return "", fmt.Errorf("listen at %q: %w", first, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", fmt.Errorf("listen at %q: %w", first, err)
	}
	return net.JoinHostPort(host, strconv.FormatUint(number+uint64(index), 10)), nil
}

// Close stops the relays. Whoever waits for an answer of one loses the connection.
func (r *Relays) Close() error {
	var failures []error
	for _, server := range r.servers {
		failures = append(failures, server.Close())
	}
	return errors.Join(failures...)
}

// URLs returns the addresses of all relays, each with its public key as user.
func (r *Relays) URLs() []string {
	urls := make([]string, len(r.All))
	for i, relay := range r.All {
		urls[i] = relay.URL()
	}
	return urls
}

// Answer decides what is said to a request. It must return when the context ends.
type Answer = func(ctx context.Context, w http.ResponseWriter, asked Asked)
