package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/scenarios/fault"
	"github.com/gavel-relay/gavel/scenarios/plan"
)

// beaconAPI is the API of the lab's beacon node. The node is a part of the lab, and the network
// around it goes on while its API is down. It is safe for concurrent use.
type beaconAPI struct {
	address string // host:port; the same in every life
	handler http.Handler
	log     *slog.Logger

	mu    sync.Mutex // guards what follows
	close context.CancelFunc
	ended chan error // of the present life; nil while there is none
}

var _ killable = (*beaconAPI)(nil)

// newBeaconAPI has an address of its own, but does not serve.
func newBeaconAPI(handler http.Handler, log *slog.Logger) (*beaconAPI, error) {
	address, err := fault.Address()
	return &beaconAPI{address: address, handler: handler, log: log}, err
}

// called implements killable.
func (b *beaconAPI) called() string { return plan.BeaconNode }

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
		return fmt.Errorf("start %s: %w", plan.BeaconNode, err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	b.close, b.ended = end, ended
	go func() { ended <- serve.Serve(running, listener, b.handler, serve.Options{Log: b.log}) }()
	return nil
}

// kill implements killable. What is under way at the node itself ends as it ends; the lab's proxies
// cut it off at once.
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
		return fmt.Errorf("stop %s: %w", plan.BeaconNode, err)
	}
	return nil
}
