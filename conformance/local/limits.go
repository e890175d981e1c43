package local

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	streamapp "github.com/gavel-relay/gavel/stream/app"
	"github.com/gavel-relay/gavel/stream/hint"
)

// second is another set of services beside the first one: with small limits, or in literal mode.
type second struct {
	relay  *relayapp.App
	rpc    *rpcapp.App
	stream *streamapp.App
}

// The limits of Lab.limited. They are small, so that the suite soon exceeds them.
const (
	limitedPerSecond = 5
	limitedBurst     = 20
	limitedListeners = 3
)

// openLimited starts the services with small limits, and returns their limits for target.yaml.
func (l *Lab) openLimited(ctx context.Context, slot time.Duration, log *slog.Logger) (limits target.Limits, err error) {
	relayAt, err := l.openRelay(ctx, &l.limited.relay, relayapp.Config{
		Key: bls.Derive("conformance relay", 2), Limits: relayapp.Limits{PerSecond: limitedPerSecond, Burst: limitedBurst},
		Log: log,
	})
	if err != nil {
		return limits, err
	}
	rpcAt, err := l.openRPC(ctx, &l.limited.rpc,
		rpcapp.Config{BlockTime: slot, Limits: rpcapp.Limits{PerSecond: limitedPerSecond}, Log: log})
	if err != nil {
		return limits, err
	}
	streamAt, err := l.openStream(ctx, &l.limited.stream, hint.DefaultConfig(),
		streamapp.Config{Limits: streamapp.Limits{Listeners: limitedListeners, PerSecond: -1}, Log: log})
	if err != nil {
		return limits, err
	}
	return target.Limits{
		Relay:  &target.Rate{PerSecond: limitedPerSecond, Burst: limitedBurst, URL: relayAt},
		RPC:    &target.Rate{PerSecond: limitedPerSecond, URL: rpcAt},
		Stream: &target.Audience{Listeners: limitedListeners, URL: streamAt},
	}, nil
}

// close closes the services that were opened.
func (s second) close() error {
	var failures []error
	if s.relay != nil {
		failures = append(failures, s.relay.Close())
	}
	if s.stream != nil {
		failures = append(failures, s.stream.Close())
	}
	if s.rpc != nil {
		failures = append(failures, s.rpc.Close())
	}
	return errors.Join(failures...)
}
