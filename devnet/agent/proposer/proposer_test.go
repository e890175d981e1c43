package proposer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// sidecar is a scripted sidecar; the zero value takes everything and has no bids.
type sidecar struct {
	header   func(slot phase0.Slot) (*Bid, error)
	submit   func(ctx context.Context) error
	register func() error

	registrations chan []*builderv1.SignedValidatorRegistration

	mu        sync.Mutex // guards submitted
	submitted []*api.VersionedSignedBlindedBeaconBlock
}

func (s *sidecar) Register(_ context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	if s.registrations != nil {
		s.registrations <- batch
	}
	if s.register != nil {
		return s.register()
	}
	return nil
}

func (s *sidecar) Header(_ context.Context, slot phase0.Slot, _ phase0.Hash32, _ phase0.BLSPubKey) (*Bid, error) {
	if s.header == nil {
		return nil, nil
	}
	return s.header(slot)
}

func (s *sidecar) Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	s.mu.Lock()
	s.submitted = append(s.submitted, block)
	s.mu.Unlock()
	if s.submit == nil {
		return nil
	}
	return s.submit(ctx)
}

func (s *sidecar) blocks() []*api.VersionedSignedBlindedBeaconBlock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*api.VersionedSignedBlindedBeaconBlock{}, s.submitted...)
}

// A proposal ends in exactly one signature: for the relay if its bid is better and fits, else for
// the local block. What happens to a blinded block afterwards changes nothing.
func TestProposal(t *testing.T) {
	for _, fork := range eth.Forks() {
		n := newNetwork(t, fork)
		bid := &Bid{Versioned: offer(t, n.spec, relayKey, 5, n.build(t, 1)), ValueWei: uint256.NewInt(5)}
		other := *bid.Versioned
		other.Version = eth.Forks()[(int(fork))%len(eth.Forks())].DataVersion()
		for i, c := range []struct {
			name   string
			bid    *Bid
			header error
			submit error
			blind  bool
			err    string
		}{
			{name: "the bid is better", bid: bid, blind: true},
			{name: "the relay refuses the signed block", bid: bid, submit: errors.New("too late"), blind: true,
				err: "submit blinded block: too late"},
			{name: "no bid"},
			{name: "no answer", header: context.DeadlineExceeded},
			{name: "no better bid", bid: &Bid{Versioned: bid.Versioned, ValueWei: new(uint256.Int)}},
			{name: "a bid of another fork", bid: &Bid{Versioned: &other, ValueWei: bid.ValueWei}},
		} {
			t.Run(fork.String()+"/"+c.name, func(t *testing.T) {
				slot := phase0.Slot(i + 1)
				n.clock.Set(n.spec.SlotStart(slot))
				s := &sidecar{
					header: func(phase0.Slot) (*Bid, error) { return c.bid, c.header },
					submit: func(context.Context) error { return c.submit },
				}
				p, before := New(n.config(s)), n.publications()
				index, pubkey := n.beacon.Duty(slot)
				err := p.proposal(t.Context(), slot, index)
				if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
					t.Errorf("proposal: %v, want %q", err, c.err)
				}
				if local := n.publications() - before; (local == 1) == c.blind || (len(s.blocks()) == 1) != c.blind {
					t.Errorf("%d local blocks and %d blinded ones are published", local, len(s.blocks()))
				}
				for _, block := range s.blocks() {
					wantSigned(t, block, pubkey, n.spec.ProposerDomain(slot))
				}
				if err := p.guard.take(index, slot); !errors.Is(err, errSigned) {
					t.Errorf("another block could be signed: %v", err)
				}
				again := p.proposal(t.Context(), slot, index)
				if published := n.publications() - before + len(s.blocks()); again == nil || published != 1 {
					t.Errorf("proposing again: %v, %d blocks published", again, published)
				}
			})
		}
	}
}

// wantSigned checks a blinded block's signature.
func wantSigned(t *testing.T, block *api.VersionedSignedBlindedBeaconBlock, pubkey phase0.BLSPubKey,
	domain phase0.Domain) {
	t.Helper()
	root, err := block.Root()
	if err != nil {
		t.Fatal(err)
	}
	signature, err := block.Signature()
	if err != nil {
		t.Fatal(err)
	}
	if err := bls.Verify(pubkey, eth.SigningRoot(root, domain), signature); err != nil {
		t.Errorf("signature: %v", err)
	}
}

func TestNoLocalBlockNoSignature(t *testing.T) {
	n, s := newNetwork(t, eth.Capella), new(sidecar)
	n.clock.Set(n.spec.SlotStart(1))
	n.fail(true)
	p := New(n.config(s))
	if err := p.proposal(t.Context(), 1, 0); err == nil || !strings.Contains(err.Error(), "beacon node answers 503") {
		t.Errorf("proposal: %v", err)
	}
	if err := p.guard.take(0, 1); err != nil {
		t.Error(err)
	}
}

func TestBeats(t *testing.T) {
	most := new(uint256.Int).SetAllOne()
	for _, c := range []struct {
		bid, local *uint256.Int
		factor     uint64
		want       bool
	}{
		{uint256.NewInt(6), uint256.NewInt(5), 100, true},
		{uint256.NewInt(5), uint256.NewInt(5), 100, false},
		{uint256.NewInt(7), uint256.NewInt(5), 90, true},
		{uint256.NewInt(10), uint256.NewInt(9), 90, false},
		{uint256.NewInt(5), uint256.NewInt(9), 200, true},
		{uint256.NewInt(1), most, PreferBuilder, true},
		{most, most, 100, true}, // what overflows is more than anything
		{most, most, 1, false},
	} {
		if got := beats(c.bid, c.local, c.factor); got != c.want {
			t.Errorf("bid %s at %d percent against %s: %v", c.bid, c.factor, c.local, got)
		}
	}
}

// Validators register when they start and in each epoch; every slot has its block, whatever has
// become of the slots before.
func TestRun(t *testing.T) {
	const blocks = "/eth/v2/beacon/blocks"
	n := newNetwork(t, eth.Capella)
	bid := &Bid{Versioned: offer(t, n.spec, relayKey, 5, n.build(t, 3)), ValueWei: uint256.NewInt(5)}
	hanging := make(chan struct{})
	s := &sidecar{
		registrations: make(chan []*builderv1.SignedValidatorRegistration, 10),
		header: func(slot phase0.Slot) (*Bid, error) {
			if slot == 3 {
				return bid, nil
			}
			return nil, nil
		},
		submit: func(ctx context.Context) error {
			close(hanging)
			<-ctx.Done()
			return ctx.Err()
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(n.config(s)).Run(ctx) }()
	wantRegistrations(t, n, <-s.registrations, n.spec.GenesisTime)

	n.clock.Set(n.spec.SlotStart(1))
	n.wait(t, blocks)
	n.clock.Set(n.spec.SlotStart(2)) // a new epoch
	n.wait(t, blocks)
	wantRegistrations(t, n, <-s.registrations, n.spec.SlotStart(2))
	n.clock.Set(n.spec.SlotStart(3)) // the relay takes the block and is not heard of again
	<-hanging
	n.clock.Set(n.spec.SlotStart(4)) // nevertheless
	n.wait(t, blocks)
	wantRegistrations(t, n, <-s.registrations, n.spec.SlotStart(4))
	n.clock.Set(n.spec.SlotStart(8)) // 5 to 7 are over before anybody could propose
	n.wait(t, blocks)
	wantRegistrations(t, n, <-s.registrations, n.spec.SlotStart(8))
	n.fail(true)
	n.clock.Set(n.spec.SlotStart(9))
	n.wait(t, "/eth/v3/validator/blocks/9")
	n.fail(false)
	n.clock.Set(n.spec.SlotStart(10))
	n.wait(t, blocks)

	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	var canonical []phase0.Slot
	for slot := range phase0.Slot(11) {
		if _, ok := n.beacon.Canonical(slot); ok && slot > 0 {
			canonical = append(canonical, slot)
		}
	}
	if fmt.Sprint(canonical) != "[1 2 4 8 10]" || n.publications() != 5 || len(s.blocks()) != 1 {
		t.Errorf("slots %v have blocks, %d local and %d blinded ones", canonical, n.publications(), len(s.blocks()))
	}
}

// wantRegistrations checks a batch of all validators' registrations.
func wantRegistrations(t *testing.T, n *network, batch []*builderv1.SignedValidatorRegistration, at time.Time) {
	t.Helper()
	found := map[phase0.BLSPubKey]*builderv1.SignedValidatorRegistration{}
	for _, entry := range batch {
		found[entry.Message.Pubkey] = entry
	}
	if len(batch) != validators || len(found) != validators {
		t.Errorf("%d registrations of %d validators", len(batch), len(found))
	}
	for i := range phase0.ValidatorIndex(validators) {
		key := n.beacon.ValidatorKey(i).PublicKey()
		entry, ok := found[key]
		if !ok {
			t.Errorf("validator %d is not registered", i)
			continue
		}
		m := entry.Message
		if m.FeeRecipient != payee(i) || m.GasLimit != 60_000_000 || !m.Timestamp.Equal(at) {
			t.Errorf("validator %d registers %s, want the time %v", i, m, at)
		}
		root, err := m.HashTreeRoot()
		if err != nil {
			t.Fatal(err)
		}
		if err := bls.Verify(key, eth.SigningRoot(root, n.spec.BuilderDomain()), entry.Signature); err != nil {
			t.Errorf("validator %d: %v", i, err)
		}
	}
}

// A relay takes 500 registrations at once and more in parts.
func TestManyRegistrations(t *testing.T) {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: time.Second, SlotsPerEpoch: 4,
		Forks: []eth.ForkPoint{{}}}
	keys := map[phase0.ValidatorIndex]*bls.SecretKey{}
	for i := range phase0.ValidatorIndex(registrationBatch + 1) {
		keys[i] = bls.Derive("many", 1)
	}
	s := &sidecar{registrations: make(chan []*builderv1.SignedValidatorRegistration, 10), register: func() error {
		return errors.New("full")
	}}
	clock := clock.NewStepped(spec.GenesisTime.Add(1500 * time.Millisecond))
	p := New(Config{Keys: keys, FeeRecipient: payee, Spec: spec, Clock: clock, Sidecar: s})
	if err := p.register(t.Context()); err == nil || err.Error() != "full\nfull" {
		t.Errorf("registering with a full relay: %v", err)
	}
	first, second := <-s.registrations, <-s.registrations
	if len(first) != registrationBatch || len(second) != 1 {
		t.Errorf("parts of %d and %d", len(first), len(second))
	}
	if at := first[0].Message.Timestamp; !at.Equal(spec.GenesisTime.Add(time.Second)) {
		t.Errorf("registered at %v: only whole seconds are signed", at)
	}
}

// Whoever has no relay proposes local blocks, and tries the relay again in each slot.
func TestRunWithoutARelay(t *testing.T) {
	n := newNetwork(t, eth.Capella)
	tries := 0 // of registrations, which come one after the other
	s := &sidecar{registrations: make(chan []*builderv1.SignedValidatorRegistration, 10), register: func() error {
		if tries++; tries < 3 {
			return errors.New("nobody there")
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(n.config(s)).Run(ctx) }()
	// 3 is of the epoch in which the relay has come, 4 of the next
	for slot, registers := range []bool{true, true, true, false, true} {
		n.clock.Set(n.spec.SlotStart(phase0.Slot(slot)))
		if slot > 0 {
			n.wait(t, "/eth/v2/beacon/blocks")
		}
		if registers {
			wantRegistrations(t, n, <-s.registrations, n.spec.SlotStart(phase0.Slot(slot)))
		}
	}
	cancel()
	if err := <-ended; err != nil || n.publications() != 4 || tries != 4 {
		t.Errorf("%v, %d blocks, registered %d times", err, n.publications(), tries)
	}
}

func TestRunThatIsEndedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := newNetwork(t, eth.Capella)
	if err := New(n.config(new(sidecar))).Run(ctx); err != nil || n.publications() > 0 {
		t.Errorf("%v, %d blocks", err, n.publications())
	}
}
