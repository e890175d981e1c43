package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/scenarios"
)

// beaconAPI serves the API of the lab's beacon node. The node itself is a part of the lab and goes
// on while its API is down, as the network around a real node would. It is safe for concurrent use.
type beaconAPI struct {
	address string // host:port, the same after each restart
	handler http.Handler
	log     *slog.Logger

	mu    sync.Mutex // guards the fields below
	close context.CancelFunc
	ended chan error // result of the running server; nil while none runs
}

var _ killable = (*beaconAPI)(nil)

// newBeaconAPI reserves an address, but does not serve yet.
func newBeaconAPI(handler http.Handler, log *slog.Logger) (*beaconAPI, error) {
	address, err := network.FreeAddress()
	return &beaconAPI{address: address, handler: handler, log: log}, err
}

// called implements killable.
func (b *beaconAPI) called() string { return scenarios.BeaconNode }

func (b *beaconAPI) url() string { return "http://" + b.address }

// start implements killable.
func (b *beaconAPI) start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return nil
	}
	listener, err := serve.Listen(b.address)
	if err != nil {
		return fmt.Errorf("start %s: %w", scenarios.BeaconNode, err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	b.close, b.ended = end, ended
	go func() { ended <- serve.Serve(running, listener, b.handler, serve.Options{Log: b.log}) }()
	return nil
}

// kill implements killable. Requests that the node handles already run to their end; the lab's
// proxies cut off their connections at once.
func (b *beaconAPI) kill() error { return b.stop() }

// stop implements killable.
func (b *beaconAPI) stop() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil {
		return nil
	}
	b.close()
	err := <-b.ended
	b.ended = nil
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("stop %s: %w", scenarios.BeaconNode, err)
	}
	return nil
}
