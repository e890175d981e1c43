package app

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/rpc/send"
)

// service is a whole service on a real chain, with a builder that puts what it is sent into blocks.
type service struct {
	testing.TB
	node    *chain.Node
	spec    *eth.Spec
	slot    phase0.Slot
	app     *App
	url     string
	builder *builder
	facts   *factsSeen
	// marks counts the markers that idle has put among the facts, passed says that it has seen its
	// own.
	marks  int
	passed bool
}

// openService is a service that works with the execution node by URL; change may ask for something
// else.
func openService(t testing.TB, change func(*Config)) *service {
	t.Helper()
	h := openChain(t)
	h.serve(h.config(change))
	return h
}

// serve starts the service and ends it with the test.
func (s *service) serve(cfg Config) (stop func()) {
	s.Helper()
	app, err := New(s.Context(), cfg)
	if err != nil {
		s.Fatal(err)
	}
	server := httptest.NewServer(app.Handler())
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			server.Close()
			cancel()
			if err := <-done; err != nil {
				s.Error(err)
			}
			if err := app.Close(); err != nil {
				s.Error(err)
			}
		})
	}
	s.Cleanup(stop)
	s.app, s.url = app, server.URL
	return stop
}

func (s *service) config(change func(*Config)) Config {
	s.Helper()
	cfg := Config{
		Key: accountKey(8), Builders: []send.Builder{{Name: "default", URL: s.builder.url,
			APIs: []string{"eth_sendBundle", "cancel"}}},
		Observe: s.facts.record, Log: slog.New(slog.NewTextHandler(s.Output(), nil)),
	}
	s.connect(&cfg)
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// connect gives the service the chain in this process.
func (s *service) connect(cfg *Config) {
	states := chain.NewStates(s.node.Chain())
	cfg.Chain, cfg.States, cfg.ChainConfig = states, states, s.node.Chain().Config()
}
