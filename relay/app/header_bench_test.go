package app

import (
	"context"
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
	"github.com/gavel-relay/gavel/relay/api/proposer"
	"github.com/gavel-relay/gavel/relay/request"
	"github.com/gavel-relay/gavel/relay/top"
)

// headOf is a chain's head.
type headOf relay.Head

func (h headOf) Head() relay.Head { return relay.Head(h) }

// headersOver is the API with one bid of a usual size on the board, and the path to ask for it.
func headersOver(facts top.Served) (handler http.Handler, path string, ssz []byte) {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	key := relay.Key{Slot: 65, ParentHash: phase0.Hash32{1}, Proposer: phase0.BLSPubKey{2}}
	bid := &relay.SignedBid{Key: key, Fork: eth.Fulu, ValueWei: uint256.NewInt(7), SSZ: make([]byte, 900)}
	board := new(top.Board)
	board.Show(key, bid)
	mux := request.NewMux()
	proposer.Mount(mux, proposer.Config{Spec: spec, Clock: clock.NewHeld(spec.SlotStart(65), 1), Headers: &top.Headers{
		Board: board, Spec: spec, Head: headOf{}, Facts: facts, CutOff: 3 * time.Second, Stopped: new(killSwitch).On,
	}})
	path = fmt.Sprintf("/eth/v1/builder/header/65/%#x/%#x", key.ParentHash[:], key.Proposer[:])
	return serve.Wrap(mux, slog.New(slog.DiscardHandler)), path, bid.SSZ
}

// BenchmarkHeaderOverLoopback compares the whole stack (ids and access log, mux, skin, board, facts in a journal) with a bare handler that
// writes the same bytes: clients that keep their connections ask each in turn, so that the load on the machine is the same for both. With
// "journal" each round waits until its facts are written, with "queue" that happens after the clock has stopped.
func BenchmarkHeaderOverLoopback(b *testing.B) {
	for _, written := range []bool{false, true} {
		b.Run(map[bool]string{false: "queue", true: "journal"}[written], func(b *testing.B) { benchmarkHeaders(b, written) })
	}
}

func benchmarkHeaders(b *testing.B, written bool) {
	j, err := journal.Open(b.Context(), journal.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := j.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	const rounds = 20
	per := b.N/rounds + 1
	var writing sync.WaitGroup
	f := newFacts(j, slog.New(slog.DiscardHandler), func(relay.Fact) { writing.Done() })
	f.Limit = 4 * rounds * per
	handler, path, raw := headersOver(f)
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set(request.VersionHeader, "fulu")
		_, _ = w.Write(raw)
	})
	ours, theirs := serving(b, handler), serving(b, bare)
	var took [2]time.Duration
	b.ResetTimer()
	for range rounds {
		writing.Add(per)
		began := time.Now()
		asked := askMany(b, ours, path, per)
		writing.Wait() // nothing of it may burden the other's round
		if written {
			asked = time.Since(began)
		}
		took[0] += asked
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

// askMany has four clients ask for a header until so many are answered.
func askMany(b *testing.B, address, path string, requests int) time.Duration {
	b.Helper()
	return servetest.Send(b, address, 4, "", servetest.Times(requests, []byte("GET "+path+" HTTP/1.1\r\nHost: relay\r\n"+
		"Accept: application/octet-stream\r\nUser-Agent: mev-boost/v1.9\r\nX-Timeout-Ms: 950\r\nDate-Milliseconds: 1700000000123\r\n\r\n")))
}
