package submit

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/top"
)

// pipelineUnderTest is a pipeline on a real chain with a real validator. The rest are ports that
// can be set or made to fail.
type pipelineUnderTest struct {
	t         *testing.T
	pipeline  *Pipeline
	node      *chain.Node
	spec      *eth.Spec
	board     *top.Bids
	validator exec.Validator
	builders  *registry.Builders
	clock     *clock.Stepped
	dead      bool // nobody can execute blocks

	mu       sync.Mutex // guards all below
	facts    []relay.Fact
	changed  chan struct{} // closed with the next fact
	escrowed map[relay.PayloadID]*relay.Contents
	evidence []*relay.Contents
	needed   map[relay.PayloadID]bool
	// unsettled are payloads of which the escrow does not know yet whether they lead.
	unsettled map[relay.PayloadID]bool
	noEscrow  bool
	slots     *slots.Slots
	head      relay.Head
	asks      builderv1.ValidatorRegistration // of the proposer, with which Duty answers
}

var (
	userKey, walletKey = accountKey("user"), accountKey("wallet")
	payee              = bellatrix.ExecutionAddress{0xfe}
	proposerKey        = bls.Derive("validator", 3).PublicKey()
	parentRoot         = phase0.Root{7}
)

const chainID = 77

func accountKey(name string) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("receive test key " + name)))
	if err != nil {
		panic(err)
	}
	return key
}

func newPipeline(t *testing.T) *pipelineUnderTest {
	t.Helper()
	h := &pipelineUnderTest{t: t}
	h.spec = &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6}}},
	}
	var err error
	h.node, err = chain.Open(chain.Config{
		Spec: h.spec, ChainID: chainID, Funded: []common.Address{crypto.PubkeyToAddress(userKey.PublicKey),
			crypto.PubkeyToAddress(walletKey.PublicKey)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.node.Close(); err != nil {
			t.Error(err)
		}
	})
	h.validator = chain.NewValidator(h.node.Chain(), chain.ValidatorOptions{})
	h.open()
	return h
}

// newPipelineOn is another pipeline on the chain of a first one.
func newPipelineOn(t *testing.T, first *pipelineUnderTest) *pipelineUnderTest {
	t.Helper()
	h := &pipelineUnderTest{t: t, node: first.node, spec: first.spec, validator: first.validator}
	h.open()
	return h
}

// open makes a pipeline that has received nothing.
func (h *pipelineUnderTest) open() {
	h.t.Helper()
	h.asks = builderv1.ValidatorRegistration{FeeRecipient: payee, GasLimit: 60_000_000, Pubkey: proposerKey}
	h.escrowed, h.board, h.changed = map[relay.PayloadID]*relay.Contents{}, new(top.Bids), make(chan struct{})
	h.unsettled = map[relay.PayloadID]bool{}
	h.clock, h.slots = clock.NewStepped(h.spec.GenesisTime), new(slots.Slots)
	h.t.Cleanup(func() { // whatever became of a submission
		if h.mu.Lock(); len(h.unsettled) != 0 {
			h.t.Errorf("%d payloads were never settled", len(h.unsettled))
		}
		h.mu.Unlock()
	})
	var err error
	h.builders, err = registry.NewBuilders(nil, h)
	if err != nil {
		h.t.Fatal(err)
	}
	h.pipeline = New(Config{
		Spec: h.spec, Clock: h.clock, Chain: h, Slots: h.slots, Builders: h.builders, Validator: h, Live: func() bool {
			return !h.dead
		},
		Escrow: h, Evidence: h, TopBids: h.board, Facts: h, Key: bls.Derive("relay", 0), ValidationTimeout: time.Minute,
		Cancellations:  true,
		PayloadTimeout: time.Second, ReportFailure: func(action string, err error) { h.t.Logf("%s: %v", action, err) },
	})
}

func (h *pipelineUnderTest) Head() relay.Head { return h.head }

func (h *pipelineUnderTest) Duty(slot phase0.Slot) *relay.RegisteredDuty {
	return &relay.RegisteredDuty{
		Duty:         relay.Duty{Slot: slot, Index: 3, Proposer: proposerKey},
		Registration: h.registration(),
	}
}

func (h *pipelineUnderTest) registration() *relay.SignedRegistration {
	h.mu.Lock()
	defer h.mu.Unlock()
	asks := h.asks
	return &relay.SignedRegistration{Message: &asks}
}

// register has the proposer ask for another recipient, or another gas limit.
func (h *pipelineUnderTest) register(recipient bellatrix.ExecutionAddress, gasLimit uint64) {
	h.mu.Lock()
	h.asks.FeeRecipient, h.asks.GasLimit = recipient, gasLimit
	h.mu.Unlock()
	h.pipeline.ApplyRegistration(h.registration().Message)
}

func (h *pipelineUnderTest) Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes {
	return &relay.Attributes{Slot: slot, ParentHash: parent, ParentRoot: parentRoot, PrevRandao: [32]byte{5},
		Withdrawals: []*capella.Withdrawal{}}
}

func (h *pipelineUnderTest) Validate(ctx context.Context, b *exec.Block) exec.Verdict {
	return h.validator.Validate(ctx, b)
}

func (h *pipelineUnderTest) Put(_ context.Context, c *relay.Contents) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.noEscrow {
		return errors.New("the escrow is down")
	}
	h.escrowed[c.ID()], h.unsettled[c.ID()] = c, true
	return nil
}

func (h *pipelineUnderTest) Settle(id relay.PayloadID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.unsettled, id)
}

func (h *pipelineUnderTest) Get(_ context.Context, id relay.PayloadID) (*relay.Contents, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.escrowed[id], nil
}

func (h *pipelineUnderTest) Drop(_ context.Context, id relay.PayloadID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.escrowed, id)
	return nil
}

// Needs says of the blocks that the test names that a proposer may ask for them.
func (h *pipelineUnderTest) Needs(id relay.PayloadID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.needed[id]
}

func (h *pipelineUnderTest) Keep(_ context.Context, c *relay.Contents) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.evidence = append(h.evidence, c)
	return nil
}

func (h *pipelineUnderTest) Record(fact relay.Fact) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.facts = append(h.facts, fact)
	close(h.changed)
	h.changed = make(chan struct{})
}

// last is the newest fact about a submission.
func (h *pipelineUnderTest) last() (judged relay.SubmissionJudged) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fact := range h.facts {
		if f, ok := fact.(relay.SubmissionJudged); ok {
			judged = f
		}
	}
	return judged
}

// submission is a real block of a builder that pays some wei, with one transfer; without transfers
// it is empty but for the payment.
func (h *pipelineUnderTest) submission(builder int, wei uint64) *relay.Submission {
	h.t.Helper()
	tx, err := types.SignNewTx(userKey, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas: 21_000,
		To:  &common.Address{1}, Value: big.NewInt(1),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	key := bls.Derive("builder", uint64(builder))
	built, err := h.node.Build(h.t.Context(), chain.BuildArgs{
		Parent: phase0.Hash32(h.node.Genesis().Hash()), Slot: 1, PrevRandao: [32]byte{5},
		Withdrawals:      []*capella.Withdrawal{},
		ParentBeaconRoot: parentRoot, Coinbase: crypto.PubkeyToAddress(walletKey.PublicKey), GasLimitTarget: 60_000_000,
		ExtraData: []byte{byte(builder)}, Transactions: []*types.Transaction{tx},
		Payment: &chain.Payment{From: walletKey, To: common.Address(payee), ValueWei: uint256.NewInt(wei)},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	s := &relay.Submission{
		Fork: built.Fork, Payload: built.Payload, Blobs: built.Blobs, Requests: built.Requests,
		ReceivedAt: h.spec.GenesisTime,
		Trace: &builderv1.BidTrace{
			Slot: 1, ParentHash: built.Payload.ParentHash, BlockHash: built.Hash(), BuilderPubkey: key.PublicKey(),
			ProposerPubkey:       proposerKey,
			ProposerFeeRecipient: payee, GasLimit: built.Payload.GasLimit, GasUsed: built.Payload.GasUsed,
			Value: uint256.NewInt(wei),
		},
	}
	h.sign(s, builder)
	return s
}

func (h *pipelineUnderTest) sign(s *relay.Submission, builder int) {
	h.t.Helper()
	root, err := s.Trace.HashTreeRoot()
	if err != nil {
		h.t.Fatal(err)
	}
	s.Signature = bls.Derive("builder", uint64(builder)).Sign(eth.SigningRoot(root, h.spec.BuilderDomain()))
}

// accept wants a submission to be taken with a status.
func (h *pipelineUnderTest) accept(s *relay.Submission, want relay.Outcome) {
	h.t.Helper()
	h.acceptWith(s, nil, want)
}

// acceptWith is accept of a submission for which something was begun while its body came.
func (h *pipelineUnderTest) acceptWith(s *relay.Submission, ahead *speculate.Ahead, want relay.Outcome) {
	h.t.Helper()
	outcome, err := h.pipeline.Submit(h.t.Context(), s, ahead)
	if err != nil || outcome != want {
		h.t.Fatalf("%+v, %v, want %+v", outcome, err, want)
	}
}

func (h *pipelineUnderTest) refuse(s *relay.Submission, want relay.Refusal) {
	h.t.Helper()
	h.refuseWith(s, nil, want)
}

func (h *pipelineUnderTest) refuseWith(s *relay.Submission, ahead *speculate.Ahead, want relay.Refusal) {
	h.t.Helper()
	_, err := h.pipeline.Submit(h.t.Context(), s, ahead)
	if refused := (*relay.Refused)(nil); !errors.As(err, &refused) || refused.ID != want.ID {
		h.t.Fatalf("%v, want %s", err, want.ID)
	}
	if judged := h.last(); judged.Refusal != want.ID || !judged.EligibleAt.IsZero() {
		h.t.Errorf("recorded as %+v", judged)
	}
}

// top wants a builder's bid to be served, with its payload in the escrow (decision 7).
func (h *pipelineUnderTest) top(s *relay.Submission) {
	h.t.Helper()
	shown := h.board.Top(s.Key())
	if shown != nil && shown.Signing != nil {
		var err error
		if shown, err = shown.Signing(); err != nil {
			h.t.Fatal(err)
		}
	}
	if shown == nil || shown.BlockHash != s.Trace.BlockHash || !shown.ValueWei.Eq(s.Trace.Value) || len(shown.SSZ) == 0 ||
		len(shown.JSON) == 0 {
		h.t.Fatalf("served: %+v, want the bid of %s wei", shown, s.Trace.Value)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.escrowed[slots.PayloadOf(s.Trace)] == nil {
		h.t.Error("served, but not in the escrow")
	}
}

func TestBestBidIsServed(t *testing.T) {
	h := newPipeline(t)
	low, high := h.submission(1, 100), h.submission(2, 200)
	h.accept(low, accepted)
	h.top(low)
	h.accept(high, accepted)
	h.top(high)
	if judged := h.last(); !judged.Verified || judged.EligibleAt.IsZero() || judged.NumTx != 2 {
		t.Errorf("recorded as %+v", judged)
	}
}

// A payload is settled once, after its bid was shown: until then it is at hand without the escrow.
func TestPayloadIsSettledWhenItsBidIsShown(t *testing.T) {
	for name, send := range map[string]func(*pipelineUnderTest, *relay.Submission){
		"simulated": func(h *pipelineUnderTest, s *relay.Submission) { h.accept(s, accepted) },
		"optimistic": func(h *pipelineUnderTest, s *relay.Submission) {
			h.trust(1)
			h.accept(s, accepted)
		},
		"header first": func(h *pipelineUnderTest, s *relay.Submission) {
			h.trustUpTo(1, 1_000_000)
			h.acceptHeader(h.header(s), accepted)
			h.accept(s, accepted)
		},
		"again": func(h *pipelineUnderTest, s *relay.Submission) {
			h.accept(s, accepted)
			h.accept(s, belowFloor)
		},
	} {
		h := newPipeline(t)
		s := h.submission(1, 1000)
		settled := 0
		h.pipeline.Escrow = settleFunc{h.pipeline.Escrow, func(id relay.PayloadID) {
			if settled++; id != slots.PayloadOf(s.Trace) || h.served(s.Key()) != s.Trace.BlockHash {
				t.Errorf("%s: %v is settled, and is not served", name, id)
			}
		}}
		if send(h, s); settled != 1 {
			t.Errorf("%s: settled %d times", name, settled)
		}
	}
}

// settleFunc is an escrow that tells of what is settled.
type settleFunc struct {
	Escrow
	tell func(relay.PayloadID)
}

func (e settleFunc) Settle(id relay.PayloadID) {
	e.tell(id)
	e.Escrow.Settle(id)
}

// Decision 5: at or below the floor a bid is kept but not executed.
func TestBelowTheFloor(t *testing.T) {
	h := newPipeline(t)
	h.accept(h.submission(1, 200), accepted)
	for _, wei := range []uint64{200, 100} {
		s := h.submission(2, wei)
		s.Payload.StateRoot[0] ^= 1 // would be found, if it were executed
		h.accept(s, belowFloor)
		if judged := h.last(); judged.Verified || judged.Refusal != "" || h.escrowed[slots.PayloadOf(s.Trace)] != nil {
			t.Errorf("recorded as %+v", judged)
		}
	}
}

// Decision 4: a cancellation falls back to the true next best at once.
func TestCancellationFallsBack(t *testing.T) {
	h := newPipeline(t)
	mine, other, lower := h.submission(1, 300), h.submission(2, 200), h.submission(1, 100)
	mine.Cancellable, other.Cancellable, lower.Cancellable = true, true, true
	lower.ReceivedAt = lower.ReceivedAt.Add(time.Second)
	h.accept(mine, accepted)
	h.accept(other, accepted)
	h.top(mine)
	h.accept(lower, accepted)
	h.top(other)
	stale := h.submission(1, 400)
	stale.Cancellable = true
	h.refuse(stale, relay.SubmissionStale) // received before what is in force
	h.top(other)
}

// A cancellable bid below the floor is not executed, but it takes back what its builder bid before.
func TestCancellationBelowTheFloor(t *testing.T) {
	h := newPipeline(t)
	floor, high, low := h.submission(1, 200), h.submission(2, 300), h.submission(2, 50)
	high.Cancellable, low.Cancellable = true, true
	h.accept(floor, accepted)
	h.accept(high, accepted)
	h.top(high)
	h.accept(low, belowFloor)
	h.top(floor)
}

func TestSequenceWinsWhateverTheOrder(t *testing.T) {
	h := newPipeline(t)
	second, first := h.submission(1, 100), h.submission(1, 300)
	second.Sequence, first.Sequence = 2, 1
	h.accept(second, accepted)
	h.refuse(first, relay.SubmissionStale)
	h.top(second)
}

func TestCancellationsCanBeSwitchedOff(t *testing.T) {
	h := newPipeline(t)
	h.pipeline.Cancellations = false
	s := h.submission(1, 100)
	s.Cancellable = true
	h.refuse(s, relay.SubmissionCancellations)
}

// Decision 3: nothing to pay, no effect; counted and answered 200.
func TestWorthlessBidHasNoEffect(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 0)
	h.accept(s, accepted)
	if h.board.Top(s.Key()) != nil || h.last().Verified {
		t.Error("a worthless bid has an effect")
	}
	empty := h.submission(1, 100)
	empty.Payload.Transactions = nil
	h.accept(empty, accepted)
	if h.board.Top(empty.Key()) != nil || h.last().Verified {
		t.Error("a bid without transactions has an effect")
	}
}

// Of two submissions of a builder the one that was received later counts, however long the
// execution of the other takes.
func TestLaterSubmissionCounts(t *testing.T) {
	h := newPipeline(t)
	slow, quick := h.submission(1, 2000), h.submission(1, 1000)
	slow.Cancellable, quick.Cancellable = true, true
	quick.ReceivedAt = slow.ReceivedAt.Add(time.Millisecond)
	arrived, open := make(chan struct{}), make(chan struct{})
	inner := h.validator
	h.validator = validatorFunc(func(ctx context.Context, b *exec.Block) exec.Verdict {
		if b.Payload.BlockHash == slow.Trace.BlockHash {
			close(arrived)
			<-open
		}
		return inner.Validate(ctx, b)
	})
	late := make(chan error, 1)
	go func() {
		_, err := h.pipeline.Submit(t.Context(), slow, nil)
		late <- err
	}()
	<-arrived
	h.accept(quick, accepted)
	close(open)
	if refused := (*relay.Refused)(nil); !errors.As(<-late, &refused) || refused.ID != relay.SubmissionStale.ID {
		t.Errorf("the earlier submission: %v, want %s", refused, relay.SubmissionStale.ID)
	}
	h.top(quick)
}

func TestInvalidBlockIsRefusedByItsRule(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	s.Trace.Value = uint256.NewInt(101) // promised, not paid
	h.sign(s, 1)
	h.refuse(s, relay.SubmissionInvalid)
	if detail := h.last().Detail; !strings.Contains(detail, string(exec.RulePayment)) {
		t.Errorf("the rule is not named: %q", detail)
	}
	if h.board.Top(s.Key()) != nil || len(h.escrowed) != 0 {
		t.Error("an invalid block is served or kept")
	}
}

// Decision 11: what we could not find out is not held against the builder.
func TestOurOwnTroubleIsNotTheBuilders(t *testing.T) {
	t.Run("no answer in time", func(t *testing.T) {
		h := newPipeline(t)
		h.pipeline.ValidationTimeout = time.Nanosecond
		h.refuse(h.submission(1, 100), relay.SubmissionTimeout)
	})
	t.Run("the chain does not have the parent", func(t *testing.T) {
		h := newPipeline(t)
		s := h.submission(1, 100)
		h.validator = unavailable{}
		h.refuse(s, relay.SubmissionUnverifiable)
	})
	t.Run("the escrow is down", func(t *testing.T) {
		h := newPipeline(t)
		h.noEscrow = true
		s := h.submission(1, 100)
		h.refuse(s, relay.SubmissionEscrowDown)
		if h.board.Top(s.Key()) != nil {
			t.Error("served without being escrowed")
		}
	})
}

// unavailable is a validator that cannot find out.
type unavailable struct{}

func (unavailable) Validate(context.Context, *exec.Block) exec.Verdict {
	return exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleParent, Detail: "not here yet"}
}

func TestSlotThatIsOver(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	h.slots.MarkDelivered(1, phase0.Hash32{9})
	h.refuse(s, relay.SubmissionDelivered)
	h.head.Slot = 1
	h.refuse(s, relay.SubmissionPastSlot)
}

func TestCloseForgetsPastAuctions(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	h.accept(s, accepted)
	h.pipeline.Close(2)
	if h.pipeline.books.Open() != 0 || len(h.pipeline.prepared) != 0 {
		t.Error("a past auction is remembered")
	}
}
