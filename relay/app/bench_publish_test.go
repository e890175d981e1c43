package app

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/OffchainLabs/go-bitfield"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/beacon"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/slots"
)

// BenchmarkPayloadToPublish is the time from the last byte of a proposer's blinded block (v2, SSZ)
// until a beacon node has the request to publish the whole block of 1.2 MB: the proposer's API,
// deliverer, escrow, guard and client are the real ones. As in a relay the payload is in memory,
// and its file was synced when it led; what is left of the disk is the guard's own sync, whose time
// is told by itself (guard), and the rest without it.
func BenchmarkPayloadToPublish(b *testing.B) {
	for name, files := range map[string]bool{"memory": false, "file": true} {
		b.Run(name, func(b *testing.B) {
			dir := ""
			if files {
				dir = b.TempDir()
			}
			h := openBench(b, dir)
			d := openDelivery(b, h)
			block := benchBlock(b, h.spec, 0, 200, 1000, 7)
			var took, claimed, rest []time.Duration
			slot := benchSlot
			for b.Loop() {
				b.StopTimer()
				slot++
				body := d.sold(b, h, block, slot)
				b.StartTimer()
				in := d.ask(b, body)
				took, claimed, rest = append(took, in), append(claimed, d.guard.took), append(rest, in-d.guard.took)
			}
			b.ReportMetric(percentile(took, 0.5).Seconds()*1000, "p50-ms")
			b.ReportMetric(percentile(took, 0.99).Seconds()*1000, "p99-ms")
			b.ReportMetric(percentile(claimed, 0.99).Seconds()*1000, "guard-p99-ms")
			b.ReportMetric(percentile(rest, 0.99).Seconds()*1000, "rest-p99-ms")
		})
	}
}

var benchValidator = bls.Derive("bench validator", 0)

// delivery is the way of a blinded block through the relay, and the beacon node at its end.
type delivery struct {
	handler http.Handler
	served  *slots.Payloads
	guard   *timedGuard
	arrived chan time.Time
}

// timedGuard notes how long the last claim took.
type timedGuard struct {
	guard
	took time.Duration
}

// Claim implements deliver.Guard.
func (g *timedGuard) Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	began := time.Now()
	defer func() { g.took = time.Since(began) }()
	return g.guard.Claim(ctx, slot, root)
}

// openDelivery wires the way; the beacon node notes when the first byte of a publication has come.
func openDelivery(b *testing.B, h *benchWay) *delivery {
	b.Helper()
	d := &delivery{
		served:  &slots.Payloads{Escrow: escrow{h.journal}, Log: slog.New(slog.DiscardHandler)},
		guard:   &timedGuard{guard: newGuard(h.journal, h.spec)},
		arrived: make(chan time.Time, 1),
	}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.arrived <- time.Now()
		_, _ = r.Body.Read(make([]byte, 1))
		w.WriteHeader(http.StatusOK)
	}))
	b.Cleanup(node.Close)
	nodes, err := beacon.New(beacon.Config{URLs: []string{node.URL}}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	deliverer := deliver.New(deliver.Config{
		Spec: h.spec, Clock: clock.Real{}, Proposers: proposerOfBench{}, Payloads: d.served, Slots: new(slots.Slots),
		Guard: d.guard, Publisher: nodes,
		Facts: benchFacts(b, h.journal), Log: slog.New(slog.DiscardHandler), PublishTimeout: time.Minute,
	})
	mux := api.NewMux()
	api.MountProposer(mux, api.ProposerConfig{Spec: h.spec, Clock: clock.Real{}, Deliverer: deliverer, Ready: func() bool {
		return true
	}})
	d.handler = mux
	return d
}

// proposerOfBench proposes in all slots.
type proposerOfBench struct{}

func (proposerOfBench) Duty(slot phase0.Slot) *relay.RegisteredDuty {
	return &relay.RegisteredDuty{Duty: relay.Duty{Slot: slot, Proposer: benchValidator.PublicKey()}}
}

func (proposerOfBench) Pubkey(phase0.ValidatorIndex) (phase0.BLSPubKey, bool) {
	return benchValidator.PublicKey(), true
}

// sold puts a block into the escrow, has it lead, and returns what its proposer signs.
func (d *delivery) sold(b *testing.B, h *benchWay, s *relay.Submission, slot phase0.Slot) []byte {
	b.Helper()
	block, trace, bid := *s.Payload, *s.Trace, *s
	block.BlockHash = phase0.Hash32(uint256.NewInt(uint64(slot)).Bytes32())
	trace.BlockHash, trace.Value, trace.Slot = block.BlockHash, uint256.NewInt(1), uint64(slot)
	bid.Payload, bid.Trace = &block, &trace
	if err := d.served.Put(b.Context(), bid.Contents()); err != nil {
		b.Fatal(err)
	}
	if err := (escrow{h.journal}).sync(b.Context(), bid.Contents().ID()); err != nil {
		b.Fatal(err)
	}
	d.served.Header(bid.Contents().ID())
	header, err := payload.HeaderOf(eth.Fulu, &block)
	if err != nil {
		b.Fatal(err)
	}
	message := &blindelectra.BlindedBeaconBlock{Slot: slot, Body: &blindelectra.BlindedBeaconBlockBody{
		ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, SyncAggregate: &altair.SyncAggregate{
			SyncCommitteeBits: bitfield.NewBitvector512()},
		ExecutionPayloadHeader: header, BlobKZGCommitments: bid.Blobs.Commitments, ExecutionRequests: bid.Requests,
	}}
	root, err := message.HashTreeRoot()
	if err != nil {
		b.Fatal(err)
	}
	signed := &blindelectra.SignedBlindedBeaconBlock{
		Message: message, Signature: benchValidator.Sign(eth.SigningRoot(root, h.spec.ProposerDomain(slot))),
	}
	raw, err := signed.MarshalSSZ()
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// ask sends a blinded block and returns how long it took until the beacon node had the whole one's
// first byte.
func (d *delivery) ask(b *testing.B, body []byte) time.Duration {
	b.Helper()
	reader := newLastRead(body)
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/eth/v2/builder/blinded_blocks", reader)
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Eth-Consensus-Version", "fulu")
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if w.Code != http.StatusAccepted {
		b.Fatalf("blinded block: %d %s", w.Code, w.Body)
	}
	return (<-d.arrived).Sub(reader.at)
}
