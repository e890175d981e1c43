package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/registry"

	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/submit"
	"github.com/gavel-relay/gavel/relay/top"
	"github.com/gavel-relay/gavel/relay/wire"
)

// benchWay is the way of a submission through the relay as app wires it, from the bytes of a
// request's body to the board: the builder's API, pipeline, book, board, facts and escrow are the
// real ones. The chain is what the blocks say it is, nobody executes a block, and no sockets are
// between us and the handler, so that what is measured is our own work.
type benchWay struct {
	spec     *eth.Spec
	journal  *journal.Journal
	leaders  *leaderSyncs // with an escrow in files
	builders *registry.Builders
	board    *noticeBoard
	pipeline *submit.Pipeline
	handler  http.Handler
	// query of all submissions.
	query string
}

const (
	benchSlot   = phase0.Slot(1)
	benchAPIKey = "bench"
)

var (
	benchBuilders = []*bls.SecretKey{bls.Derive("bench builder", 0), bls.Derive("bench builder", 1),
		bls.Derive("bench builder", 2), bls.Derive("bench builder", 3)}
	benchProposer  = bls.Derive("bench proposer", 0).PublicKey()
	benchRecipient = bellatrix.ExecutionAddress{0xfe}
)

// noticeBoard is the board, and notes when the last bid became visible, and then when its header
// could be written.
type noticeBoard struct {
	top.Bids
	shown time.Time
	whole chan time.Time
	told  chan time.Time // gets shown too, unless it is nil
}

// Show implements submit.TopBids.
func (b *noticeBoard) Show(key relay.Key, bid *relay.SignedBid) {
	b.Bids.Show(key, bid)
	b.shown = time.Now()
	if b.told != nil {
		b.told <- b.shown
	}
	b.whole = make(chan time.Time, 1)
	if bid.Signing == nil {
		b.whole <- b.shown
		return
	}
	go func(whole chan<- time.Time) {
		if _, err := bid.Signing(); err == nil {
			whole <- time.Now()
		}
	}(b.whole)
}

// chainOfBench knows one slot and its parent.
type chainOfBench struct{}

func (chainOfBench) Head() relay.Head { return relay.Head{} }

func (chainOfBench) Duty(slot phase0.Slot) *relay.RegisteredDuty {
	return &relay.RegisteredDuty{
		Duty: relay.Duty{Slot: slot, Proposer: benchProposer},
		Registration: &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{
			FeeRecipient: benchRecipient, GasLimit: 60_000_000, Pubkey: benchProposer,
		}},
	}
}

func (chainOfBench) Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes {
	return &relay.Attributes{Slot: slot, ParentHash: parent, ParentNumber: 6, Withdrawals: []*capella.Withdrawal{}}
}

func (chainOfBench) Duties() ([]relay.RegisteredDuty, uint64) { return nil, 1 }

// nobodyExecutes finds every block valid at once.
type nobodyExecutes struct{}

func (nobodyExecutes) Validate(context.Context, *exec.Block) exec.Verdict {
	return exec.Verdict{Class: exec.Valid}
}

// openBench opens the way; dir is where the escrow's files are, memory without.
func openBench(b testing.TB, dir string) *benchWay {
	b.Helper()
	return openBenchWith(b, journal.Config{Dir: dir})
}

// openBenchWith is openBench with a journal of one's own.
func openBenchWith(b testing.TB, config journal.Config) *benchWay {
	b.Helper()
	return openBenchAs(b, config, func(*submit.Config, *journal.Journal) {})
}

// openBenchAs is openBenchWith with a pipeline that is configured further.
func openBenchAs(b testing.TB, config journal.Config, configure func(*submit.Config, *journal.Journal)) *benchWay {
	b.Helper()
	return openBenchOf(b, eth.Fulu, config, configure)
}

// openBenchOf is openBenchAs of a network in a fork.
func openBenchOf(b testing.TB, fork eth.Fork, config journal.Config,
	configure func(*submit.Config, *journal.Journal)) *benchWay {
	b.Helper()
	h := &benchWay{board: new(noticeBoard), spec: benchSpec()}
	h.spec.Forks[0].Fork = fork
	var err error
	h.journal, err = journal.Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := h.journal.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	var listeners []relay.Facts
	if config.Dir != "" {
		var leaders *topSync
		leaders, h.leaders = syncLeaders(b, escrow{h.journal})
		listeners = append(listeners, leaders)
	}
	record := benchFacts(b, h.journal, listeners...)
	h.builders, err = registry.NewBuilders(benchRecords(), record)
	if err != nil {
		b.Fatal(err)
	}
	held := clock.NewStepped(h.spec.GenesisTime)
	rules := submit.Config{
		Spec: h.spec, Clock: held, Chain: chainOfBench{}, Slots: new(slots.Slots), Builders: h.builders,
		Validator: nobodyExecutes{},
		Escrow:    unneeded{escrow{h.journal}}, Evidence: evidence{h.journal}, TopBids: h.board, Facts: record,
		Key:               bls.Derive("relay", 0),
		ValidationTimeout: time.Minute, PayloadTimeout: time.Second, Executors: 1, Cancellations: true,
		ReportFailure: func(action string, err error) { b.Errorf("%s: %v", action, err) },
	}
	configure(&rules, h.journal)
	h.pipeline = submit.New(rules)
	mux := api.NewMux()
	api.MountBuilder(mux, api.BuilderConfig{
		Spec: h.spec, Clock: held, Submitter: h.pipeline,
		Speculator: speculate.New(speculate.Config{
			Spec: h.spec, Auction: h.pipeline, Key: bls.Derive("relay", 0), Verify: bls.Verify,
		}), Headers: h.pipeline, Duties: chainOfBench{},
		Identity: h.builders, Bids: fork == eth.Gloas,
		Hydrator: new(submit.HydrationCache),
	})
	h.handler = mux
	return h
}

// benchRecords trust all builders; the i-th has the API key benchAPIKey and its number.
func benchRecords() []relay.Builder {
	records := make([]relay.Builder, len(benchBuilders))
	for i, key := range benchBuilders {
		hash := phase0.Hash32(sha256.Sum256(fmt.Appendf(nil, "%s %d", benchAPIKey, i)))
		records[i] = relay.Builder{
			Name: fmt.Sprintf("builder-%d", i), Pubkeys: []phase0.BLSPubKey{key.PublicKey()}, APIKeyHash: &hash,
			Optimistic: true, CollateralWei: uint256.MustFromDecimal("1000000000000000000000"),
		}
	}
	return records
}

// benchBlock is a fulu block of a builder with so many transactions of so many bytes, and blobs;
// all of its bytes are noise.
func benchBlock(b testing.TB, spec *eth.Spec, from, transactions, transactionBytes, blobs int) *relay.Submission {
	b.Helper()
	noise := rand.NewChaCha8([32]byte{byte(from + 1)})
	fill := func(raw []byte) {
		_, _ = noise.Read(raw) // never fails
	}
	s := &relay.Submission{
		Fork: eth.Fulu, Requests: payload.EmptyRequests(),
		Payload: &payload.Payload{
			Timestamp: uint64(spec.SlotStart(benchSlot).Unix()), GasLimit: 60_000_000, GasUsed: 30_000_000, BlockNumber: 7,
			BaseFeePerGas: uint256.NewInt(7),
			ParentHash:    phase0.Hash32{1}, Withdrawals: []*capella.Withdrawal{}, Transactions: make([]bellatrix.Transaction,
				transactions),
		},
		Blobs: &payload.Blobs{
			Commitments: make([]deneb.KZGCommitment, blobs), Proofs: make([]deneb.KZGProof, blobs*eth.CellsPerBlob),
			Blobs: make([]deneb.Blob, blobs),
		},
		Trace: &relay.BidTrace{
			Slot: uint64(benchSlot), ParentHash: phase0.Hash32{1}, BuilderPubkey: benchBuilders[from].PublicKey(),
			ProposerPubkey:       benchProposer,
			ProposerFeeRecipient: benchRecipient, GasLimit: 60_000_000, GasUsed: 30_000_000,
		},
	}
	for i := range s.Payload.Transactions {
		data := make([]byte, transactionBytes)
		fill(data)
		raw, err := types.NewTx(&types.DynamicFeeTx{Nonce: uint64(i), Data: data}).MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		s.Payload.Transactions[i] = raw
	}
	for i := range s.Blobs.Blobs {
		fill(s.Blobs.Commitments[i][:])
		fill(s.Blobs.Blobs[i][:])
	}
	for i := range s.Blobs.Proofs {
		fill(s.Blobs.Proofs[i][:])
	}
	return s
}

// offer makes of a block the body of a submission for another value, and thus another block.
func offer(b testing.TB, h *benchWay, s *relay.Submission, key *bls.SecretKey, media wire.Media, wei uint64) []byte {
	b.Helper()
	block, trace, bid := *s.Payload, *s.Trace, *s
	block.BlockHash = phase0.Hash32(uint256.NewInt(wei).Bytes32())
	block.ExtraData = fmt.Appendf(nil, "bid %d", wei)
	trace.BlockHash, trace.Value = block.BlockHash, uint256.NewInt(wei)
	bid.Payload, bid.Trace = &block, &trace
	root, err := trace.HashTreeRoot()
	if err != nil {
		b.Fatal(err)
	}
	bid.Signature = key.Sign(eth.SigningRoot(root, h.spec.BuilderDomain()))
	body, err := wire.EncodeSubmission(media, &bid)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

// lastRead is a body that notes when it was read to its end.
type lastRead struct {
	from io.Reader
	size int
	at   time.Time
}

func newLastRead(body []byte) *lastRead {
	return &lastRead{from: bytes.NewReader(body), size: len(body)}
}

// Read implements io.Reader.
func (l *lastRead) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if err == io.EOF {
		l.at = time.Now()
	}
	return n, err
}

// network is a body that comes at 10 Gbit/s, in pieces as a socket hands them out. Whoever reads
// faster waits, without sleeping: a sleep would last longer than a piece.
type network struct {
	body []byte
	from time.Time
	at   int
}

func overNetwork(body []byte) *lastRead {
	return &lastRead{from: &network{body: body}, size: len(body)}
}

const (
	networkPiece  = 64 << 10
	networkByteNs = 0.8
)

// Read implements io.Reader.
func (n *network) Read(p []byte) (int, error) {
	if n.at == len(n.body) {
		return 0, io.EOF
	}
	if n.at == 0 {
		n.from = time.Now()
	}
	end := min(n.at+min(networkPiece, len(p)), len(n.body))
	for here := n.from.Add(time.Duration(float64(end) * networkByteNs)); time.Now().Before(here); {
		runtime.Gosched()
	}
	copy(p, n.body[n.at:end])
	read := end - n.at
	n.at = end
	return read, nil
}

// submit sends a body that is all here, and returns how long it took from the body's last byte to
// the bid on the board, and to the end of the answer.
func (h *benchWay) submit(b testing.TB, from int, identified bool, media wire.Media,
	body []byte) (visible, answered time.Duration) {
	b.Helper()
	return h.receive(b, from, identified, media, newLastRead(body))
}

// receive is submit of a body that comes as it comes.
func (h *benchWay) receive(b testing.TB, from int, identified bool, media wire.Media,
	reader *lastRead) (visible, answered time.Duration) {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/relay/v1/builder/blocks"+h.query, reader)
	r.ContentLength = int64(reader.size)
	r.Header.Set("Content-Type", media.ContentType())
	if identified {
		r.Header.Set("X-Api-Key", fmt.Sprintf("%s %d", benchAPIKey, from))
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	end := time.Now()
	if w.Code != http.StatusOK {
		b.Errorf("submission: %d %s", w.Code, w.Body) // perhaps on a goroutine of its own
	}
	return h.board.shown.Sub(reader.at), end.Sub(reader.at)
}

// benchFacts are written to the journal until the benchmark ends.
func benchFacts(b testing.TB, j *journal.Journal, listeners ...relay.Facts) *facts {
	b.Helper()
	record := newFacts(j, slog.New(slog.DiscardHandler), factEncoder{}, nil, listeners...)
	b.Cleanup(func() {
		if err := record.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return record
}

// percentile of durations, which it sorts; p from 0 to 1.
func percentile(of []time.Duration, p float64) time.Duration {
	slices.Sort(of)
	return of[min(int(float64(len(of))*p), len(of)-1)]
}

// unneeded is an escrow of which nothing is needed, and nothing is in memory.
type unneeded struct{ escrow }

// Needs implements submit.Escrow.
func (unneeded) Needs(relay.PayloadID) bool { return false }

// Settle implements submit.Escrow.
func (unneeded) Settle(relay.PayloadID) {}
