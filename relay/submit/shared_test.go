package submit

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/relay/slots"
)

// memoryLog is an auction log in memory. An entry is applied at all instances before Append
// returns.
type memoryLog struct {
	mu      sync.Mutex // guards all below, and is held while instances hear
	changed *sync.Cond
	hearers []*Pipeline
	number  uint64
	begun   map[phase0.Slot]bool
	kinds   map[auction.EntryKind]int
	away    bool
	before  func() // called once, before the next entry; not guarded
}

func (l *memoryLog) Append(_ context.Context, slot phase0.Slot, entry []byte) error {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errors.New("the log is away")
	}
	decoded, err := auction.DecodeEntry(entry)
	if err != nil {
		return err
	}
	l.number++
	for _, p := range l.hearers {
		p.Hear(l.number, slot, entry)
	}
	l.kinds[decoded.Kind]++
	l.changed.Broadcast()
	return nil
}

func (l *memoryLog) Begin(ctx context.Context, slot phase0.Slot, entry []byte) error {
	l.mu.Lock()
	begun := l.begun[slot]
	l.begun[slot] = true
	l.mu.Unlock()
	if begun {
		return nil
	}
	return l.Append(ctx, slot, entry)
}

// wait returns when so many entries of a kind are in the log.
func (l *memoryLog) wait(kind auction.EntryKind, entries int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.kinds[kind] < entries {
		l.changed.Wait()
	}
}

// newInstances are two pipelines on one log and one escrow.
func newInstances(t *testing.T) (a, b *pipelineUnderTest, log *memoryLog) {
	t.Helper()
	a = newPipeline(t)
	b = newPipelineOn(t, a)
	log = &memoryLog{begun: map[phase0.Slot]bool{}, kinds: map[auction.EntryKind]int{}}
	log.changed = sync.NewCond(&log.mu)
	for name, h := range map[string]*pipelineUnderTest{"a": a, "b": b} {
		cfg := h.pipeline.Config
		cfg.Log, cfg.Instance, cfg.Escrow = log, name, a
		h.pipeline = New(cfg)
		h.trustUpTo(1, 1_000_000)
		log.hearers = append(log.hearers, h.pipeline)
	}
	return a, b, log
}

// wantTop wants all instances to serve a bid; nil for none.
func wantTop(t *testing.T, s *relay.Submission, key relay.Key, instances ...*pipelineUnderTest) {
	t.Helper()
	for i, h := range instances {
		want := phase0.Hash32{}
		if s != nil {
			want = s.Trace.BlockHash
		}
		if got := h.served(key); got != want {
			t.Errorf("instance %d serves %x, want %x", i, got[:4], want[:4])
		}
	}
}

// later executes one bid as if the time had passed that another instance has for it.
func (h *pipelineUnderTest) later() bool {
	job, _ := h.pipeline.optimistic.next(time.Now().Add(executeGrace))
	if job != nil {
		h.pipeline.simulateQueued(h.t.Context(), job)
	}
	return job != nil
}

func (h *pipelineUnderTest) executions() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fact := range h.facts {
		if _, is := fact.(relay.SubmissionExecuted); is {
			n++
		}
	}
	return n
}

// The instance that took a bid executes it; its verdict is everybody's, so the others do not.
func TestOneInstanceExecutes(t *testing.T) {
	a, b, log := newInstances(t)
	s := a.submission(1, 100)
	a.accept(s, accepted)
	wantTop(t, s, s.Key(), a, b)
	if b.executeNext() {
		t.Error("the other instance executes at once")
	}
	if !a.executeNext() {
		t.Fatal("nobody executes")
	}
	log.wait(auction.BidVerified, 1)
	b.later()
	if a.executions() != 1 || b.executions() != 0 {
		t.Errorf("%d and %d executions", a.executions(), b.executions())
	}
	a.pipeline.Distrust([]phase0.BLSPubKey{s.Trace.BuilderPubkey})
	log.wait(auction.BuilderWithdrawn, 1)
	wantTop(t, s, s.Key(), a, b) // it is verified
}

// If the instance that took a bid dies, another executes the block, and what it finds counts for
// all.
func TestAnotherInstanceExecutes(t *testing.T) {
	a, b, log := newInstances(t)
	bad := a.submission(1, 100)
	bad.Trace.Value = uint256.NewInt(900) // promised, not paid
	a.sign(bad, 1)
	a.accept(bad, accepted)
	if !b.later() {
		t.Fatal("nobody executes")
	}
	log.wait(auction.BuilderWithdrawn, 1)
	wantTop(t, nil, bad.Key(), a, b)
	if len(b.demotions()) != 1 || len(b.evidence) != 1 {
		t.Errorf("%+v", b.demotions())
	}
}

// A bid that an instance would still trust, of a builder that another has demoted: its block is
// executed, and then it counts; a header is refused.
func TestDistrustIsTheLogs(t *testing.T) {
	a, b, log := newInstances(t)
	first := a.submission(1, 100)
	a.accept(first, accepted)
	a.pipeline.Distrust([]phase0.BLSPubKey{first.Trace.BuilderPubkey})
	log.wait(auction.BuilderWithdrawn, 1)
	wantTop(t, nil, first.Key(), a, b)
	s := b.submission(1, 50)
	b.accept(s, accepted)
	if judged := b.last(); judged.Optimistic || !judged.Verified {
		t.Errorf("%+v, want a block that was executed first", judged)
	}
	wantTop(t, s, s.Key(), a, b)
	b.refuseHeader(b.header(b.submission(1, 70)), relay.HeaderNotTrusted)
}

// The same if the demotion is in the log just before the bid, which was on its way as a trusted
// one.
func TestDistrustThatIsFaster(t *testing.T) {
	a, b, log := newInstances(t)
	first := a.submission(2, 10)
	a.accept(first, accepted) // opens the log
	s := b.submission(1, 100)
	log.before = func() {
		withdrawn, err := json.Marshal(auction.Entry{
			Version: 1, Needs: 1, Instance: "c", Number: 1, Kind: auction.BuilderWithdrawn, Builder: s.Trace.BuilderPubkey,
		})
		if err == nil {
			err = log.Append(t.Context(), 1, withdrawn)
		}
		if err != nil {
			t.Error(err)
		}
	}
	b.accept(s, accepted)
	if judged := b.last(); judged.Optimistic || !judged.Verified {
		t.Errorf("%+v, want a block that was executed first", judged)
	}
	wantTop(t, s, s.Key(), a, b)
}

// An instance that has no room drops a block for all of them, but not one that leads; at another
// instance the block may come again.
func TestDroppedBlocksAreDroppedForAll(t *testing.T) {
	a, b, _ := newInstances(t)
	first := a.submission(1, 100)
	a.bounded(16, first) // three blocks of the builder
	a.accept(first, accepted)
	for wei := range uint64(2) {
		a.accept(a.submission(1, 101+wei), accepted)
	}
	for a.executeNext() {
	}
	better := a.submission(1, 300)
	a.accept(better, accepted)
	a.mu.Lock()
	gone := a.escrowed[slots.PayloadOf(first.Trace)] == nil
	a.mu.Unlock()
	if !gone {
		t.Fatal("the oldest is still there")
	}
	wantTop(t, better, better.Key(), a, b)
	again := b.at(first, 1, 400)
	b.accept(again, accepted)
	a.mu.Lock()
	back := a.escrowed[slots.PayloadOf(first.Trace)] != nil
	a.mu.Unlock()
	if !back {
		t.Error("a block that was dropped counts again, and is not in the escrow")
	}
	wantTop(t, again, again.Key(), a, b)
}

// A new registration at one instance takes out what the proposer no longer asks for at all.
func TestReregistrationReachesAllAuctions(t *testing.T) {
	a, b, log := newInstances(t)
	s := b.submission(1, 100)
	b.accept(s, accepted)
	a.register([20]byte{0xaa}, 60_000_000)
	log.wait(auction.ProposerReregistered, 1)
	wantTop(t, nil, s.Key(), a, b)
}

// A delivery at one instance ends the slot at all, in the log's order.
func TestDeliveryIsInTheLog(t *testing.T) {
	a, b, log := newInstances(t)
	a.accept(a.submission(1, 100), accepted)
	a.pipeline.SlotDelivered(1)
	log.wait(auction.SlotDelivered, 1)
	b.refuse(b.submission(1, 200), relay.SubmissionDelivered)
}

// Without the log nothing counts, and the builder is told by name.
func TestLogThatIsAway(t *testing.T) {
	a, b, log := newInstances(t)
	s := a.submission(1, 100)
	a.accept(s, accepted)
	log.mu.Lock()
	log.away = true
	log.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // otherwise it is tried for two seconds
	_, err := a.pipeline.Submit(ctx, a.at(s, 1, 150), nil)
	if refused := (*relay.Refused)(nil); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	_, refused := a.pipeline.append(ctx, 1, auction.Entry{Kind: auction.SlotDelivered}, nil)
	if refused == nil || refused.ID != relay.SubmissionAuctionDown.ID {
		t.Errorf("%v", refused)
	}
	wantTop(t, s, s.Key(), a, b)
}

// What serves a bid elsewhere is the same bid, byte for byte.
func TestOfferIsReadAsItWasWritten(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	bid, err := prepare(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := encodeOffer(s, bid)
	if err != nil {
		t.Fatal(err)
	}
	read, again, err := decodeOffer(data)
	if err != nil {
		t.Fatal(err)
	}
	if difference := differs(bid, again); difference != "" || idOfTrace(read.Trace) != idOfTrace(s.Trace) ||
		read.Signature != s.Signature || !again.trace.ValueWei.Eq(bid.trace.ValueWei) ||
		again.trace.NumTx != bid.trace.NumTx || again.trace.BlockNumber != bid.trace.BlockNumber {
		t.Errorf("%s: %+v, want %+v", difference, again, bid)
	}
	key, domain := bls.Derive("relay", 0), h.spec.BuilderDomain()
	one := bid.sign(s.Key(), key, domain, func(err error) { t.Error(err) })
	two := again.sign(s.Key(), key, domain, func(err error) { t.Error(err) })
	signed, err := one.Signing()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := two.Signing(); err != nil || string(same.SSZ) != string(signed.SSZ) {
		t.Errorf("%v: other bytes are served", err)
	}
	for _, broken := range []string{`{}`, `{"fork":"fulu"}`, `{"fork":"fulu","message":"AAAA"}`, `[]`} {
		if _, _, err := decodeOffer([]byte(broken)); err == nil {
			t.Errorf("%s is read", broken)
		}
	}
}
