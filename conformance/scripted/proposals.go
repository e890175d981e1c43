package scripted

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Behaviour is what all relays do in a slot of a consensus client's validator.
type Behaviour string

// The behaviours. Withholds and Refuses offer a bid that is right as far as anybody can see without
// its block, and never publish the block: the one says that it has, the other that it cannot.
const (
	NoBid     Behaviour = "have no bid"
	Fails     Behaviour = "answer 500"
	HangsUp   Behaviour = "hang up"
	Silent    Behaviour = "keep silent"
	Garbage   Behaviour = "send garbage"
	Unsigned  Behaviour = "sign their bids wrongly"
	Elsewhere Behaviour = "bid on another parent"
	Refuses   Behaviour = "refuse the signed block"
	Withholds Behaviour = "withhold the block"
	Unwelcome Behaviour = "would bid"
	// MostMissed is how many slots in a row a client may miss without an end.
	MostMissed = 16
	// mostWithheld bounds the slots of one round, of which some may have a late block.
	mostWithheld = 2 * MostMissed
	afterwards   = 3 // slots that are watched once relays are no longer asked
	// mostRounds is how often a client that was not asked in a slot, and asks in the next one, has
	// blocks withheld again: on a busy machine a request may come too late to be seen.
	mostRounds = 3
)

// course is what relays do, slot by slot, before they withhold blocks.
var course = []Behaviour{NoBid, Fails, HangsUp, Silent, Garbage, Unsigned, Elsewhere, Refuses, NoBid}

// Proposal is a slot of a consensus client's validator, and what was seen of it.
type Proposal struct {
	Slot     phase0.Slot
	Relays   Behaviour
	Proposer phase0.BLSPubKey
	// Parents are the parents that the beacon node has announced for the slot.
	Parents []phase0.Hash32
	// Asked are the requests for headers of the slot, at any relay. Signed are the signed blinded
	// blocks.
	Asked, Signed []Asked
	// Block says whether the chain has a block in the slot. Since relays publish none, it is the
	// client's own.
	Block bool
}

// Proposals are the relays of a consensus client that proposes in a network of its own. They do the
// same in one slot, and something else in the next. All that is known of the network comes from the
// client's beacon node.
//
//	beacon node ─attributes, duties, headers─▶ Proposals ─▶ relays a, b, c ◀─registrations, getHeader, signed blocks─ client under test
//	spec ◀───────────────what was seen, slot by slot──────────┘
type Proposals struct {
	*Relays
	Clock         clock.Clock
	SlotsPerEpoch uint64

	beacon *probe.Client
	stop   context.CancelFunc
	group  *errgroup.Group
	once   sync.Once
	done   chan struct{}

	mu         sync.Mutex // guards the fields below
	attributes map[phase0.Slot][]eth.PayloadAttributes
	does       map[phase0.Slot]Behaviour
	then       Behaviour // in slots of which does has nothing yet
	seen       []Proposal
	failed     error
}

// ProposalsConfig says where the client's network is.
type ProposalsConfig struct {
	Network       Network
	SlotsPerEpoch uint64
	BeaconURL     string
	Clock         clock.Clock
	// Listen is as in Config.
	Listen string
}

// OpenProposals opens the relays. The caller must call Close.
func OpenProposals(ctx context.Context, cfg ProposalsConfig) (*Proposals, error) {
	relays, err := Open(Config{Network: cfg.Network, Listen: cfg.Listen, Clock: cfg.Clock})
	if err != nil {
		return nil, err
	}
	p := &Proposals{Relays: relays, Clock: cfg.Clock, SlotsPerEpoch: cfg.SlotsPerEpoch,
		beacon: probe.NewClient(cfg.BeaconURL, nil, 10*time.Second).By(cfg.Clock), group: new(errgroup.Group),
		done: make(chan struct{}), attributes: map[phase0.Slot][]eth.PayloadAttributes{},
		does: map[phase0.Slot]Behaviour{}}
	for _, relay := range p.All {
		relay.On(Header, nil, p.header(relay))
		relay.On(PayloadV1, nil, p.payload)
		relay.On(PayloadV2, nil, p.payload)
	}
	ctx, p.stop = context.WithCancel(ctx)
	p.group.Go(func() error { return p.follow(ctx) })
	return p, nil
}

// Close ends the relays.
func (p *Proposals) Close() error {
	p.stop()
	return errors.Join(p.Relays.Close(), p.group.Wait())
}

// Course has the relays do one thing after another, once for all specs, and returns what was seen.
// The error says why there is nothing to judge.
func (p *Proposals) Course(ctx context.Context) ([]Proposal, error) {
	p.once.Do(func() {
		p.group.Go(func() error {
			defer close(p.done)
			if err := p.run(context.WithoutCancel(ctx)); err != nil {
				p.mu.Lock()
				p.failed = err
				p.mu.Unlock()
			}
			return nil
		})
	})
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the slots of the client's validators: %w", ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen, p.failed
}

// run goes through the course: all behaviours, then blocks that are withheld until relays are no
// longer asked, and some slots after that.
func (p *Proposals) run(ctx context.Context) error {
	slot := p.Network.At(p.Clock.Now()) + 1
	for i, does := range course {
		then := Withholds
		if i+1 < len(course) {
			then = course[i+1]
		}
		one, err := p.in(ctx, slot, does, then)
		if err != nil {
			return err
		}
		slot = one.Slot + 1
	}
	for range mostRounds {
		after, err := p.withhold(ctx, slot)
		if err != nil {
			return err
		}
		after, again, err := p.watch(ctx, after)
		if err != nil {
			return err
		}
		if slot = after; !again {
			break
		}
	}
	return p.lookAgain(ctx)
}

// withhold withholds blocks until the client asks no relay in a slot and proposes a block of its
// own, or has missed MostMissed slots in a row. It returns the slot after that.
func (p *Proposals) withhold(ctx context.Context, slot phase0.Slot) (after phase0.Slot, err error) {
	missed := 0
	for range mostWithheld {
		one, err := p.in(ctx, slot, Withholds, Withholds)
		if err != nil {
			return slot, err
		}
		if missed++; one.Block {
			missed = 0 // the row begins anew
		}
		if slot = one.Slot + 1; missed == MostMissed || one.Block && len(one.Asked) == 0 {
			break
		}
	}
	return slot, nil
}

// watch offers bids to a client that asks no relay any more, and says whether it asks again.
func (p *Proposals) watch(ctx context.Context, slot phase0.Slot) (after phase0.Slot, again bool, err error) {
	for range afterwards {
		one, err := p.in(ctx, slot, Unwelcome, Unwelcome)
		if err != nil {
			return slot, again, err
		}
		slot, again = one.Slot+1, again || len(one.Asked) > 0
	}
	return slot, again, nil
}

// lookAgain notes what has come since a slot was over: on a busy machine blocks and requests are
// late.
func (p *Proposals) lookAgain(ctx context.Context) error {
	p.mu.Lock()
	seen := slices.Clone(p.seen)
	p.mu.Unlock()
	for i := range seen {
		has, err := p.hasBlock(ctx, seen[i].Slot)
		if err != nil {
			return err
		}
		seen[i].Block, seen[i].Asked = has, p.asked(seen[i].Slot, seen[i].Proposer)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = seen
	return nil
}

// asked returns the requests for headers of a slot.
func (p *Proposals) asked(slot phase0.Slot, proposer phase0.BLSPubKey) (list []Asked) {
	for _, relay := range p.All {
		for _, asked := range relay.Heard(Header, proposer[:]) {
			if of, _, _ := strings.Cut(strings.TrimPrefix(asked.Path, headerPath), "/"); of == fmt.Sprint(slot) {
				list = append(list, asked)
			}
		}
	}
	return list
}

// in has the relays do something in the next slot from the given one on whose proposer has
// registered, and returns what was seen when the slot is over. In the slots behind it they do then
// what is planned next, since clients ask as soon as a slot begins.
func (p *Proposals) in(ctx context.Context, from phase0.Slot, does, then Behaviour) (one Proposal, err error) {
	for slot := from; slot < from+phase0.Slot(4*p.SlotsPerEpoch); slot++ {
		proposer, err := p.proposer(ctx, slot)
		if err != nil {
			return one, err
		}
		if len(p.All[0].Heard(Register, proposer[:])) == 0 {
			continue
		}
		p.mu.Lock()
		p.does[slot], p.then = does, then
		p.mu.Unlock()
		if err := p.Clock.Until(ctx, p.Network.Start(slot+1)); err != nil {
			return one, err
		}
		one = Proposal{Slot: slot, Relays: does, Proposer: proposer}
		if one.Block, err = p.hasBlock(ctx, slot); err != nil {
			return one, err
		}
		one.Asked = p.asked(slot, proposer)
		for _, relay := range p.All {
			for _, endpoint := range []Endpoint{PayloadV1, PayloadV2} {
				for _, signed := range relay.Heard(endpoint, nil) {
					if p.Network.At(signed.At) == slot {
						one.Signed = append(one.Signed, signed)
					}
				}
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, at := range p.attributes[slot] {
			one.Parents = append(one.Parents, at.ParentHash)
		}
		p.seen = append(p.seen, one)
		return one, nil
	}
	return one, fmt.Errorf("no validator that has registered at relay a proposes within %d slots", 4*p.SlotsPerEpoch)
}

const headerPath = "/eth/v1/builder/header/"

// proposer asks who proposes in a slot.
func (p *Proposals) proposer(ctx context.Context, slot phase0.Slot) (key phase0.BLSPubKey, err error) {
	var said struct {
		Data []struct {
			Slot   uint64 `json:"slot,string"`
			Pubkey string `json:"pubkey"`
		} `json:"data"`
	}
	answer, err := p.beacon.Do(ctx, probe.Request{Method: http.MethodGet,
		Path: fmt.Sprintf("/eth/v1/validator/duties/proposer/%d", uint64(slot)/p.SlotsPerEpoch)})
	if err == nil {
		err = answer.JSON(&said)
	}
	if err != nil {
		return key, fmt.Errorf("ask the beacon node for duties: %w", err)
	}
	for _, duty := range said.Data {
		if duty.Slot == uint64(slot) {
			return key, eth.ParseHex(duty.Pubkey, key[:])
		}
	}
	return key, fmt.Errorf("the beacon node has no duty of slot %d", slot)
}

// hasBlock asks whether the chain has a block in a slot.
func (p *Proposals) hasBlock(ctx context.Context, slot phase0.Slot) (bool, error) {
	answer, err := p.beacon.Do(ctx, probe.Request{Method: http.MethodGet,
		Path: fmt.Sprintf("/eth/v1/beacon/headers/%d", slot)})
	switch {
	case err != nil:
		return false, fmt.Errorf("ask the beacon node for a block: %w", err)
	case answer.Status == http.StatusOK, answer.Status == http.StatusNotFound:
		return answer.Status == http.StatusOK, nil
	}
	return false, fmt.Errorf("ask the beacon node for a block: %s", answer)
}

// follow reads the beacon node's payload attributes until the context ends.
func (p *Proposals) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		stream, err := p.beacon.Open(ctx, "/eth/v1/events?topics=payload_attributes", nil)
		if err != nil {
			_ = p.Clock.Until(ctx, p.Clock.Now().Add(p.Network.Slot/10)) // the loop looks at the context
			continue
		}
		stream.Wait(p.Network.Slot*100, func(event string) bool {
			if at, err := eth.ParsePayloadAttributes([]byte(event)); err == nil {
				p.mu.Lock()
				p.attributes[at.Slot] = append(p.attributes[at.Slot], at)
				p.mu.Unlock()
			}
			return ctx.Err() != nil
		})
		stream.Close()
	}
	return nil
}

// header answers getHeader as the slot's behaviour says.
func (p *Proposals) header(relay *Relay) Answer {
	return func(ctx context.Context, w http.ResponseWriter, asked Asked) {
		parts := strings.Split(strings.TrimPrefix(asked.Path, headerPath), "/")
		number, err := strconv.ParseUint(parts[0], 10, 64)
		var parent phase0.Hash32
		if err != nil || len(parts) != 3 || eth.ParseHex(parts[1], parent[:]) != nil {
			Refuse(http.StatusBadRequest)(ctx, w, asked)
			return
		}
		slot := phase0.Slot(number)
		does := p.behaviour(slot)
		switch does {
		case Fails:
			Refuse(http.StatusInternalServerError)(ctx, w, asked)
		case HangsUp:
			HangUp(ctx, w, asked)
		case Silent:
			Hang(ctx, w, asked)
		case Garbage:
			Raw(http.StatusOK, jsonType, "", []byte(`{"version":"`))(ctx, w, asked)
		case Unsigned, Elsewhere, Refuses, Withholds, Unwelcome:
			p.bid(relay, slot, parent, does)(ctx, w, asked)
		default:
			Say(http.StatusNoContent)(ctx, w, asked)
		}
	}
}

// behaviour is what the relays do in a slot.
func (p *Proposals) behaviour(slot phase0.Slot) Behaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	if does, planned := p.does[slot]; planned {
		return does
	}
	return p.then
}

// bidWei is what every bid is worth: more than any block of a test network.
var bidWei = new(uint256.Int).Mul(uint256.NewInt(100), uint256.NewInt(1e18))

// bid answers with a bid on the parent that was asked for, as the beacon node has announced the
// slot. Its payload does not exist.
func (p *Proposals) bid(relay *Relay, slot phase0.Slot, parent phase0.Hash32, does Behaviour) Answer {
	p.mu.Lock()
	var at *eth.PayloadAttributes
	for i := range p.attributes[slot] {
		if p.attributes[slot][i].ParentHash == parent {
			at = &p.attributes[slot][i]
		}
	}
	p.mu.Unlock()
	if at == nil {
		return Say(http.StatusNoContent)
	}
	auction := Auction{Slot: slot, Parent: parent, Timestamp: p.Network.Start(slot), Fork: p.Network.Fork}
	if does == Elsewhere {
		auction.Parent[0] ^= 1
	}
	content := auction.Payload("course")
	content.PrevRandao, content.BlockNumber = at.PrevRandao, at.ParentNumber+1
	if p.Network.Fork.HasWithdrawals() {
		content.Withdrawals = at.Withdrawals
	}
	domain := p.Network.BuilderDomain()
	if does == Unsigned {
		domain[31] ^= 1
	}
	signed := auction.Sign(auction.Bid(auction.hashed(content), relay.Key.Public, bidWei), relay.Key, domain)
	return Document(p.Network.Fork, probe.Bid(p.Network.Fork, signed), Negotiated)
}

// payload answers a signed block, which no relay publishes.
func (p *Proposals) payload(ctx context.Context, w http.ResponseWriter, asked Asked) {
	if p.behaviour(p.Network.At(asked.At)) == Withholds && asked.Endpoint == PayloadV2 {
		Say(http.StatusAccepted)(ctx, w, asked)
		return
	}
	Refuse(http.StatusInternalServerError)(ctx, w, asked)
}
