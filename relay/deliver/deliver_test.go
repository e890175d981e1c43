package deliver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"github.com/prometheus/client_golang/prometheus"

	bitfield "github.com/OffchainLabs/go-bitfield"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/wire"
)

// delivererUnderTest is a deliverer with parts that can be made to fail. Real stores and nodes
// cannot be made to refuse on command.
type delivererUnderTest struct {
	t         *testing.T
	deliverer *Deliverer
	spec      *eth.Spec
	contents  *relay.Contents
	mu        sync.Mutex // guards facts, published, claimed
	facts     []relay.Fact
	published [][]byte
	claimed   map[phase0.Slot]phase0.Root
	refuse    atomic.Bool // beacon nodes refuse
	guardDown atomic.Bool
	crash     atomic.Bool // publishing panics
	spoiled   []byte      // blocks with these bytes are refused, if set
	awaited   atomic.Bool // the payload has not come yet
	slots     *slots.Slots
	hold      chan struct{} // publications wait for it, if set

	guardHangs, escrowHangs atomic.Bool // they answer nothing
}

var proposerKey = bls.Derive("validator", 3)

const (
	slot     = phase0.Slot(10)
	proposer = phase0.ValidatorIndex(3)
)

func newDeliverer(t *testing.T) *delivererUnderTest {
	h := &delivererUnderTest{t: t, claimed: map[phase0.Slot]phase0.Root{}, slots: new(slots.Slots)}
	h.spec = &eth.Spec{
		GenesisTime: time.Now(), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32, GenesisValidatorsRoot: phase0.Root{4},
		Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6}}},
	}
	requests := payload.EmptyRequests()
	requests.Withdrawals = append(requests.Withdrawals, &electra.WithdrawalRequest{Amount: 5})
	h.contents = &relay.Contents{
		Fork:  eth.Fulu,
		Trace: &builderv1.BidTrace{Slot: uint64(slot), BlockHash: phase0.Hash32{9}, Value: uint256.NewInt(7)},
		Payload: &payload.Payload{
			BlockHash: phase0.Hash32{9}, BaseFeePerGas: uint256.NewInt(7), Transactions: []bellatrix.Transaction{{1, 2, 3}},
		},
		Blobs: &payload.Blobs{Commitments: []deneb.KZGCommitment{{1}}, Proofs: make([]deneb.KZGProof, 128),
			Blobs: make([]deneb.Blob, 1)},
		Requests: requests,
	}
	h.deliverer = New(Config{
		Spec: h.spec, Clock: clock.Real{}, Proposers: h, Payloads: h, Slots: h.slots, Guard: h, Publisher: h, Facts: h,
		Log:    slog.New(slog.DiscardHandler),
		CutOff: 4 * time.Second, RevealDelay: time.Second, PublishTimeout: time.Second,
	})
	return h
}

func (h *delivererUnderTest) Duty(s phase0.Slot) *relay.RegisteredDuty {
	if s != slot {
		return nil
	}
	return &relay.RegisteredDuty{Duty: relay.Duty{Slot: slot, Index: proposer, Proposer: proposerKey.PublicKey()}}
}

func (h *delivererUnderTest) Pubkey(i phase0.ValidatorIndex) (phase0.BLSPubKey, bool) {
	return bls.Derive("validator", uint64(i)).PublicKey(), i < 8
}

func (h *delivererUnderTest) Find(ctx context.Context, _ phase0.Slot, hash phase0.Hash32,
	fits func(*relay.Contents) bool) (*relay.Contents, error) {
	if h.escrowHangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if hash != h.contents.Payload.BlockHash || h.awaited.Load() || !fits(h.contents) {
		return nil, nil
	}
	return h.contents, nil
}

func (h *delivererUnderTest) Claim(ctx context.Context, s phase0.Slot, root phase0.Root) (bool, error) {
	if h.guardHangs.Load() {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if h.guardDown.Load() {
		return false, errors.New("the guard is down")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if first, ok := h.claimed[s]; ok {
		return first == root, nil
	}
	h.claimed[s] = root
	return true, nil
}

func (h *delivererUnderTest) Publish(_ context.Context, _ eth.Fork, _ phase0.Root, ssz []byte) error {
	if h.hold != nil {
		<-h.hold
	}
	if h.crash.Load() {
		panic("crash")
	}
	if h.refuse.Load() {
		return errors.New("all nodes refused")
	}
	if h.spoiled != nil && bytes.Contains(ssz, h.spoiled) {
		return errors.New("wrong proofs")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.published = append(h.published, ssz)
	return nil
}

func (h *delivererUnderTest) Record(fact relay.Fact) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.facts = append(h.facts, fact)
}

// deliveries counts facts that say "delivered".
func (h *delivererUnderTest) deliveries() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fact := range h.facts {
		if _, ok := fact.(relay.PayloadDelivered); ok {
			n++
		}
	}
	return n
}

// block is what the proposer signs; change bends it before signing.
func (h *delivererUnderTest) block(key *bls.SecretKey,
	change func(*blindelectra.BlindedBeaconBlock)) *relay.BlindedBlock {
	h.t.Helper()
	header, err := payload.HeaderOf(eth.Fulu, h.contents.Payload)
	if err != nil {
		h.t.Fatal(err)
	}
	message := &blindelectra.BlindedBeaconBlock{
		Slot: slot, ProposerIndex: proposer,
		Body: &blindelectra.BlindedBeaconBlockBody{
			ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, SyncAggregate: &altair.SyncAggregate{
				SyncCommitteeBits: bitfield.NewBitvector512()},
			ExecutionPayloadHeader: header, BlobKZGCommitments: []deneb.KZGCommitment{{1}},
			ExecutionRequests: h.contents.Requests,
		},
	}
	if change != nil {
		change(message)
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		h.t.Fatal(err)
	}
	signed := &blindelectra.SignedBlindedBeaconBlock{
		Message: message, Signature: key.Sign(eth.SigningRoot(root, h.spec.ProposerDomain(message.Slot))),
	}
	raw, err := signed.MarshalSSZ()
	if err != nil {
		h.t.Fatal(err)
	}
	block, err := wire.DecodeBlinded(eth.Fulu, wire.SSZ, raw)
	if err != nil {
		h.t.Fatal(err)
	}
	return block
}

// at is a moment of the slot.
func (h *delivererUnderTest) at(into time.Duration) time.Time {
	return h.spec.SlotStart(slot).Add(into)
}

// deliver asks without wanting the payload, as v2 does.
func (h *delivererUnderTest) deliver(block *relay.BlindedBlock, into time.Duration) error {
	_, err := h.deliverer.Deliver(h.t.Context(), h.at(into), block, false)
	return err
}

func wantRefused(t *testing.T, err error, want relay.Refusal) {
	t.Helper()
	if refused := (*relay.Refused)(nil); !errors.As(err, &refused) || refused.ID != want.ID {
		t.Errorf("%v, want %s", err, want.ID)
	}
}

func TestDeliveredBlockIsPublishedWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		block := h.block(proposerKey, nil)
		if err := h.deliver(block, 0); err != nil {
			t.Fatal(err)
		}
		contents := new(apifulu.SignedBlockContents)
		if err := contents.UnmarshalSSZ(h.published[0]); err != nil {
			t.Fatal(err)
		}
		root, err := contents.SignedBlock.Message.HashTreeRoot()
		if err != nil || root != [32]byte(block.Root) || len(contents.KZGProofs) != 128 {
			t.Errorf("root %#x, want %#x, %d proofs, %v", root, block.Root[:], len(contents.KZGProofs), err)
		}
		if h.deliveries() != 1 || !h.slots.Delivered(slot) || !h.slots.Delivered(slot-1) || h.slots.Delivered(slot+1) {
			t.Error("the slot and those before it are over, later ones are not")
		}
	})
}

// Nothing of what is refused here is published, claimed, or called delivered.
func TestRefusals(t *testing.T) {
	for name, row := range map[string]struct {
		key    *bls.SecretKey
		change func(*blindelectra.BlindedBeaconBlock)
		into   time.Duration
		want   relay.Refusal
	}{
		"REL-PAY-03 another validator's signature": {key: bls.Derive("validator", 4), want: relay.PayloadSignature},
		"REL-PAY-13 another proposer": {change: func(b *blindelectra.BlindedBeaconBlock) {
			b.ProposerIndex++
		}, want: relay.PayloadUnknownProposer},
		"REL-PAY-13 no such validator": {change: func(b *blindelectra.BlindedBeaconBlock) {
			b.Slot, b.ProposerIndex = slot+1, 99
		}, want: relay.PayloadUnknownProposer},
		"REL-PAY-14 a header field": {change: func(b *blindelectra.BlindedBeaconBlock) {
			b.Body.ExecutionPayloadHeader.GasUsed++
		}, want: relay.PayloadHeaderMismatch},
		"REL-PAY-14 the commitments": {change: func(b *blindelectra.BlindedBeaconBlock) {
			b.Body.BlobKZGCommitments[0][0]++
		}, want: relay.PayloadHeaderMismatch},
		"REL-PAY-14 the execution requests": {change: func(b *blindelectra.BlindedBeaconBlock) {
			b.Body.ExecutionRequests = payload.EmptyRequests()
		}, want: relay.PayloadHeaderMismatch},
		"REL-PAY-04 an unknown block hash": {change: func(b *blindelectra.BlindedBeaconBlock) {
			b.Body.ExecutionPayloadHeader.BlockHash[0]++
		}, want: relay.PayloadUnknown},
		"too late": {into: 4*time.Second + time.Millisecond, want: relay.PayloadTooLate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliverer(t)
				key := row.key
				if key == nil {
					key = proposerKey
				}
				wantRefused(t, h.deliver(h.block(key, row.change), row.into), row.want)
				if len(h.published) != 0 || len(h.claimed) != 0 || h.deliveries() != 0 || h.slots.Delivered(slot) {
					t.Error("a refused block left something")
				}
				if len(h.facts) != 1 {
					t.Errorf("%d facts, want the refusal", len(h.facts))
				}
			})
		})
	}
}

// REL-PAY-03: a signature for another fork's domain is worth nothing.
func TestSignatureOfAnotherForkVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		for name, domain := range map[string]phase0.Domain{
			"another fork's version": eth.ComputeDomain(eth.DomainBeaconProposer, phase0.Version{5},
				h.spec.GenesisValidatorsRoot),
			"genesis's version": eth.ComputeDomain(eth.DomainBeaconProposer, h.spec.GenesisForkVersion,
				h.spec.GenesisValidatorsRoot),
			"another network's root": eth.ComputeDomain(eth.DomainBeaconProposer, h.spec.Forks[0].Version, phase0.Root{}),
			"the domain of builders": h.spec.BuilderDomain(),
			"attesters of that epoch": eth.ComputeDomain(phase0.DomainType{1}, h.spec.Forks[0].Version,
				h.spec.GenesisValidatorsRoot),
		} {
			block := h.block(proposerKey, nil)
			block.Signature = proposerKey.Sign(eth.SigningRoot(block.Root, domain))
			if err := h.deliver(block, 0); err == nil {
				t.Errorf("%s: revealed", name)
			} else {
				wantRefused(t, err, relay.PayloadSignature)
			}
		}
	})
}

// REL-PAY-05: the second block of a slot gets nothing, whatever it is.
func TestSecondBlockOfASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		if err := h.deliver(h.block(proposerKey, nil), 0); err != nil {
			t.Fatal(err)
		}
		other := h.block(proposerKey, func(b *blindelectra.BlindedBeaconBlock) { b.Body.Graffiti[0] = 1 })
		wantRefused(t, h.deliver(other, 0), relay.PayloadOther)
		if len(h.published) != 1 || h.deliveries() != 1 {
			t.Error("two blocks of a slot left")
		}
	})
}

// Once a block of a later slot is out, an older one is not published any more.
func TestBlockOfAnEarlierSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.deliverer.CutOff = 0
		if err := h.deliver(h.block(proposerKey, nil), 0); err != nil {
			t.Fatal(err)
		}
		earlier := h.block(proposerKey, func(b *blindelectra.BlindedBeaconBlock) { b.Slot-- })
		wantRefused(t, h.deliver(earlier, 0), relay.PayloadEarlierSlot)
		if len(h.published) != 1 || h.deliveries() != 1 || len(h.claimed) != 1 {
			t.Error("the earlier slot was touched")
		}
	})
}

// REL-PAY-06: a repeat is answered when its slot is over, also after a later slot's block.
func TestRepeatAfterALaterSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.deliverer.CutOff = 0
		first := h.block(proposerKey, nil)
		if err := h.deliver(first, 0); err != nil {
			t.Fatal(err)
		}
		later := h.block(proposerKey, func(b *blindelectra.BlindedBeaconBlock) { b.Slot++ })
		if err := h.deliver(later, h.spec.SlotDuration); err != nil {
			t.Fatal(err)
		}
		if err := h.deliver(first, h.spec.SlotDuration); err != nil {
			t.Errorf("the repeat: %v", err)
		}
		if len(h.published) != 2 {
			t.Errorf("%d publications", len(h.published))
		}
	})
}

// REL-PAY-06: repeats, also at the same time and in any mix of v1 and v2, get the same answer; the
// block is published once.
func TestRepeatsArePublishedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.hold = make(chan struct{})
		block := h.block(proposerKey, nil)
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				contents, err := h.deliverer.Deliver(t.Context(), h.at(0), block, i%2 == 0)
				if err != nil || contents != h.contents {
					t.Errorf("%v, %v", contents, err)
				}
			})
		}
		time.Sleep(time.Until(h.at(time.Second))) // virtual: all are waiting by now
		close(h.hold)
		group.Wait()
		if len(h.published) != 1 || h.deliveries() != 1 {
			t.Errorf("%d publications, %d facts", len(h.published), h.deliveries())
		}
	})
}

// The fact of a delivery says how long its stages took, of the request that came first. What took
// no time is left out.
func TestStagesAreInTheFact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.hold = make(chan struct{})
		ctx := observe.NewHTTP(observe.NewSet(prometheus.NewRegistry()), nil).Context(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := h.deliverer.Deliver(ctx, h.at(0), h.block(proposerKey, nil), false); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Until(h.at(1500 * time.Millisecond))) // virtual
		close(h.hold)
		group.Wait()
		for _, fact := range h.facts {
			if f, is := fact.(relay.PayloadDelivered); is && f.Stages != (relay.StagesUs{Publish: 1_500_000}) {
				t.Errorf("%+v", f.Stages)
			}
		}
		if h.deliveries() != 1 {
			t.Error("it was not delivered")
		}
	})
}

// An early request is held until the slot starts; v1 reveals only a second after
// publication, v2 at once.
func TestWhenThingsHappen(t *testing.T) {
	for name, row := range map[string]struct {
		reveal bool
		want   time.Duration
	}{"v1": {true, time.Second}, "v2": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliverer(t)
				time.Sleep(time.Until(h.at(-300 * time.Millisecond))) // virtual
				if _, err := h.deliverer.Deliver(t.Context(), time.Now(), h.block(proposerKey, nil), row.reveal); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(h.at(0)); got != row.want {
					t.Errorf("answered %v into the slot, want %v", got, row.want)
				}
			})
		})
	}
}

// When every node refuses, nothing is revealed or listed, and the proposer may try the same block
// again.
func TestFailedPublicationRevealsNothingAndMayBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.refuse.Store(true)
		block := h.block(proposerKey, nil)
		contents, err := h.deliverer.Deliver(t.Context(), h.at(0), block, true)
		wantRefused(t, err, relay.PayloadNotPublished)
		if contents != nil || h.deliveries() != 0 || h.slots.Delivered(slot) {
			t.Error("an unpublished payload left")
		}
		h.refuse.Store(false)
		if err := h.deliver(block, 0); err != nil {
			t.Errorf("the repeat: %v", err)
		}
	})
}

// Without the guard nobody knows whether another block was revealed, so nothing is.
func TestGuardThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.guardDown.Store(true)
		wantRefused(t, h.deliver(h.block(proposerKey, nil), 0), relay.PayloadGuardDown)
		if len(h.published) != 0 {
			t.Error("published without the guard")
		}
	})
}

// A store that does not answer is named while the proposer still waits, nothing is revealed, and
// the same request succeeds once it is back.
func TestStoreThatHangs(t *testing.T) {
	for name, row := range map[string]struct {
		hangs func(*delivererUnderTest) *atomic.Bool
		want  relay.Refusal
	}{
		"guard":  {func(h *delivererUnderTest) *atomic.Bool { return &h.guardHangs }, relay.PayloadGuardDown},
		"escrow": {func(h *delivererUnderTest) *atomic.Bool { return &h.escrowHangs }, relay.PayloadEscrowDown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliverer(t)
				row.hangs(h).Store(true)
				time.Sleep(time.Until(h.at(0))) // virtual
				block := h.block(proposerKey, nil)
				wantRefused(t, h.deliver(block, 0), row.want)
				if into := time.Since(h.at(0)); into != defaultStoreTimeout {
					t.Errorf("answered after %v", into)
				}
				if len(h.published) != 0 {
					t.Error("published all the same")
				}
				row.hangs(h).Store(false)
				if err := h.deliver(block, 3*time.Second); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Whoever waits for a publication that crashes is told, and the proposer may try again.
func TestPublicationThatCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.hold = make(chan struct{})
		h.crash.Store(true)
		time.Sleep(time.Until(h.at(0))) // virtual
		block := h.block(proposerKey, nil)
		go func() {
			defer func() { _ = recover() }() // the server's
			_ = h.deliver(block, 0)
		}()
		synctest.Wait()
		repeat := make(chan error, 1)
		go func() { repeat <- h.deliver(block, 0) }()
		synctest.Wait()
		close(h.hold)
		wantRefused(t, <-repeat, relay.Internal)
		h.crash.Store(false)
		if err := h.deliver(block, 0); err != nil {
			t.Error(err)
		}
	})
}

// A proposer that hangs up after its request does not stop the publication of its block.
func TestClientThatGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		h.hold = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		time.Sleep(time.Until(h.at(0))) // virtual
		go func() {
			_, err := h.deliverer.Deliver(ctx, h.at(0), h.block(proposerKey, nil), true)
			done <- err
		}()
		synctest.Wait()
		cancel()
		close(h.hold)
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if len(h.published) != 1 || h.deliveries() != 1 {
			t.Error("the block was not published")
		}
	})
}

// A header may be served before its payload is here; whoever signed for it waits until it is.
func TestPayloadThatFollowsItsHeader(t *testing.T) {
	for withheld, want := range map[bool]int{false: 1, true: 0} {
		synctest.Test(t, func(t *testing.T) {
			h := newDeliverer(t)
			h.awaited.Store(true)
			expected := h.slots.Expect(h.contents.Payload.BlockHash)
			go func() {
				synctest.Wait() // the proposer waits
				h.awaited.Store(withheld)
				expected.End()
			}()
			err := h.deliver(h.block(proposerKey, nil), time.Millisecond)
			if withheld {
				wantRefused(t, err, relay.PayloadUnknown)
			} else if err != nil {
				t.Error(err)
			}
			if got := h.deliveries(); got != want {
				t.Errorf("withheld %v: %d deliveries", withheld, got)
			}
		})
	}
}

// A block that no validator has signed is refused, counted, and no fact; one that is signed is a
// fact a few times between two heads.
func TestStrangersRefusalsAreNoFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		counted := 0
		h.deliverer.Unrecorded = func(relay.PayloadRefused) { counted++ }
		forged := h.block(bls.Derive("validator", 4), nil)
		other := h.block(proposerKey, func(b *blindelectra.BlindedBeaconBlock) { b.ProposerIndex++ })
		for range 50 {
			wantRefused(t, h.deliver(forged, 0), relay.PayloadSignature)
			wantRefused(t, h.deliver(other, 0), relay.PayloadUnknownProposer)
		}
		if len(h.facts) != 0 || counted != 100 {
			t.Errorf("%d facts, %d counted", len(h.facts), counted)
		}
		unknown := h.block(proposerKey, func(b *blindelectra.BlindedBeaconBlock) {
			b.Body.ExecutionPayloadHeader.BlockHash[0]++
		})
		for range 2 {
			for range 50 {
				wantRefused(t, h.deliver(unknown, 0), relay.PayloadUnknown)
			}
			h.deliverer.Close(1)
		}
		if len(h.facts) != 2*maxRecordedRefusals || counted != 100+100-2*maxRecordedRefusals {
			t.Errorf("%d facts, %d counted", len(h.facts), counted)
		}
	})
}
