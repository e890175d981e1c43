package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/top"
)

// headOf is a chain's head.
type headOf relay.Head

func (h headOf) Head() relay.Head { return relay.Head(h) }

// headersOver is the API with one bid of a usual size on the board, and the path to ask for it.
func headersOver(served top.Served) (handler http.Handler, board *top.Bids, path string, ssz []byte) {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	key := relay.Key{Slot: 65, ParentHash: phase0.Hash32{1}, Proposer: phase0.BLSPubKey{2}}
	bid := &relay.SignedBid{Key: key, Fork: eth.Fulu, ValueWei: uint256.NewInt(7), SSZ: make([]byte, 900)}
	board = &top.Bids{Served: served}
	board.Show(key, bid)
	mux := api.NewMux()
	api.MountProposer(mux, api.ProposerConfig{Spec: spec, Clock: clock.NewStepped(spec.SlotStart(65)),
		Headers: &top.Headers{
			Bids: board, Spec: spec, Head: headOf{}, CutOff: 3 * time.Second, Stopped: new(killSwitch).On,
		}})
	path = fmt.Sprintf("/eth/v1/builder/header/65/%#x/%#x", key.ParentHash[:], key.Proposer[:])
	return mux, board, path, bid.SSZ
}

// BenchmarkHeaderOverLoopback compares getHeader with a bare handler that writes the same bytes:
// clients that keep their connections ask each in turn, so that the load on the machine is the same
// for both. A round ends when the journal has been told of each of its answers, as with a slot's
// end. "journal" has ids and access log, mux, handlers, board and facts; "service" also what stands
// around them in a relay: limits of connections, bodies and requests, and metrics.
func BenchmarkHeaderOverLoopback(b *testing.B) {
	b.Run("journal", func(b *testing.B) {
		benchmarkHeaders(b, func(api http.Handler) string {
			return serving(b, serve.Wrap(api, slog.New(slog.DiscardHandler)))
		})
	})
	b.Run("service", func(b *testing.B) {
		benchmarkHeaders(b, func(api http.Handler) string { return servingWhole(b, api) })
	})
}

// perSlot is how many requests a round has at least. In slots of a few thousand the wait for the
// journal at the end, some milliseconds without work, would be a tenth of the round.
const perSlot = 20_000

func benchmarkHeaders(b *testing.B, serveOurs func(api http.Handler) (address string)) {
	j, err := journal.Open(b.Context(), journal.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := j.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	rounds := max(2, b.N/perSlot)
	per := b.N/rounds + 1
	var writing sync.WaitGroup
	f := newFacts(j, slog.New(slog.DiscardHandler), factEncoder{}, func(fact relay.Fact) {
		writing.Add(-fact.(relay.HeaderServed).Count())
	})
	handler, board, path,
		raw := headersOver(servedHeaders{f, &slots.Payloads{Escrow: escrow{j}, Log: slog.New(slog.DiscardHandler)}})
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set(api.VersionHeader, "fulu")
		_, _ = w.Write(raw)
	})
	ours, theirs := serveOurs(handler), serving(b, bare)
	var took [2]time.Duration
	b.ResetTimer()
	for range rounds {
		writing.Add(per)
		began := time.Now()
		askMany(b, ours, path, per)
		board.RecordRepeats()
		writing.Wait()
		took[0] += time.Since(began)
		took[1] += askMany(b, theirs, path, per)
	}
	b.StopTimer()
	if err := f.Close(b.Context()); err != nil || f.Lost() > 0 {
		b.Errorf("%d facts lost, %v", f.Lost(), err)
	}
	b.ReportMetric(float64(rounds*per)/took[0].Seconds(), "requests/s")
	b.ReportMetric(float64(took[1])/float64(took[0]), "of-bare")
}

// serving is the address of a server of its own.
func serving(b *testing.B, handler http.Handler) string {
	b.Helper()
	listener := listening(b)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

func listening(b *testing.B) net.Listener {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return listener
}

// servingWhole is the address of a server with all that a relay's has.
func servingWhole(b *testing.B, api http.Handler) string {
	b.Helper()
	const noBound = 1 << 30
	a := &App{log: slog.New(slog.DiscardHandler), cfg: Config{Limits: Limits{
		PerSecond: noBound, Burst: noBound, BuilderPerSecond: noBound, BuilderBurst: noBound, Connections: 8192,
		ConnectionsPerAddress: 1024,
	}}}
	a.facts = newFacts(nil, a.log, factEncoder{}, nil)
	var err error
	if a.builders, err = registry.NewBuilders(nil, a.facts); err != nil {
		b.Fatal(err)
	}
	if err := a.observe(); err != nil {
		b.Fatal(err)
	}
	listener := listening(b)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve.Serve(ctx, listener, a.protect(api), a.serving()) }()
	b.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, a.facts.Close(context.Background())); err != nil {
			b.Error(err)
		}
	})
	return listener.Addr().String()
}

// askMany has four clients ask for a header until so many are answered.
func askMany(b *testing.B, address, path string, requests int) time.Duration {
	b.Helper()
	return servetest.Send(b, address, 4, "", servetest.Times(requests, []byte("GET "+path+" HTTP/1.1\r\nHost: relay\r\n"+
		"Accept: application/octet-stream\r\nUser-Agent: mev-boost/v1.9\r\nX-Timeout-Ms: 950\r\nDate-Milliseconds: "+
		"1700000000123\r\n\r\n")))
}
