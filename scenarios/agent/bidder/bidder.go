// Package bidder is a builder with a strategy of a plan: it builds real blocks of what is in the
// pool, as any builder of the lab does, but what it bids, when, and whether it plays fair is what
// its plan says.
//
//	beacon node ─payload_attributes─▶ auction ─┬─ decide (pure): wait, bid so much, take back, stop
//	relays ─duties, leading bids─────▶         ├─ build, pay the proposer
//	relays ◀──────────signed submissions───────┴─ cheat, if that is the strategy; sign; submit
package bidder

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
	"github.com/gavel-relay/gavel/scenarios/plan"
)

// Node is the builder's own execution node; *chain.Node is one.
type Node interface {
	// Build executes the given transactions on a parent and returns the block.
	Build(ctx context.Context, args chain.BuildArgs) (*chain.Built, error)
	// Pending are the pool's transactions, best first.
	Pending() []*types.Transaction
}

// Relay is where bids go.
type Relay struct {
	Name   string
	Client *client.Client
	// TopBids is the way to its leading bids; nil is Client.
	TopBids *client.Client
}

func (r Relay) topBids() *client.Client { return cmp.Or(r.TopBids, r.Client) }

// Config says who the builder is and what it does.
type Config struct {
	Name   string
	Key    *bls.SecretKey
	Wallet *ecdsa.PrivateKey
	Node   Node
	Spec   *eth.Spec
	Clock  clock.Clock
	// BeaconURL is where payload attributes come from.
	BeaconURL string
	Relays    []Relay
	Strategy  []plan.Move
	TxLimit   int
	// Tell is told what relays answer; Actor, Subject, At, Slot and ID are filled in. message is the
	// answer's, empty without one.
	Tell func(r plan.Record, message string)
	Log  *slog.Logger
}

// Bidder is a running builder.
type Bidder struct {
	Config
	strategy strategy
	top      top
	// kept are the submissions of the last auction, for one who sends them again. Only work uses it,
	// one auction at a time.
	kept []submission
}

// New returns a bidder that does nothing until Run.
func New(cfg Config) *Bidder {
	b := &Bidder{Config: cfg, strategy: strategyOf(cfg.Strategy)}
	if only := b.strategy.only; only != "" {
		b.Relays = nil
		for _, relay := range cfg.Relays {
			if relay.Name == only {
				b.Relays = append(b.Relays, relay)
			}
		}
	}
	return b
}

// Run bids until the context ends, and returns nil then. New attributes end the work on older ones.
func (b *Bidder) Run(ctx context.Context) error {
	if b.strategy.offline {
		<-ctx.Done()
		return nil
	}
	var working sync.WaitGroup
	defer working.Wait()
	for _, relay := range b.Relays {
		working.Go(func() { b.followTop(ctx, relay) })
	}
	stop := func() {}
	defer func() { stop() }()
	var current builder.Attributes
	done := make(chan struct{})
	close(done)
	return builder.Follow(ctx, b.BeaconURL, b.Log.With("builder", b.Name), func(a builder.Attributes) {
		if a.Same(current) {
			return
		}
		stop()
		<-done // one auction at a time
		current, done = a, make(chan struct{})
		var work context.Context
		work, stop = context.WithCancel(ctx)
		ended := done
		working.Go(func() {
			defer close(ended)
			b.auction(work, a)
		})
	})
}

// look is how often the situation is looked at in a slot, when the strategy waits for a change.
const look = 120

// auction bids in one auction, until the strategy is done, newer attributes have come, or the slot
// is well under way.
func (b *Bidder) auction(ctx context.Context, a builder.Attributes) {
	duty, err := b.duty(ctx, a.Slot)
	if err != nil {
		return
	}
	if b.strategy.replay {
		b.again(ctx)
	}
	start := b.Spec.SlotStart(a.Slot)
	s := situation{began: b.Clock.Now().Sub(start), slot: b.Spec.SlotDuration}
	for {
		s.now = b.Clock.Now().Sub(start)
		s.topWei, s.leading = b.top.of(a, b.Key.PublicKey())
		next := b.strategy.decide(s)
		switch next.do {
		case stop:
			return
		case wait:
			if b.Clock.Until(ctx, start.Add(next.until)) != nil {
				return
			}
		case bid:
			paid, err := b.bid(ctx, a, duty, next)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				b.Log.Warn("bid failed", "builder", b.Name, "slot", a.Slot, "error", err)
				s.failed++
				if s.failed > retries || b.Clock.Until(ctx, start.Add(s.now+b.Spec.SlotDuration/look)) != nil {
					return
				}
				continue
			}
			s.bids, s.lastWei, s.failed = s.bids+1, paid, 0
			s.cancelled = s.cancelled || next.cancel
		}
	}
}

// retries is how often a bid that failed is tried again.
const retries = 20

// bid builds one block, pays its proposer and submits it everywhere.
func (b *Bidder) bid(ctx context.Context, a builder.Attributes, duty client.Duty,
	next decision) (*uint256.Int, error) {
	built, err := b.build(ctx, a, duty, next.valueWei)
	if err != nil {
		return nil, err
	}
	one, err := b.sign(a, duty, built, built.PaidWei)
	if err != nil {
		return nil, err
	}
	one.cancellations = next.cancel || b.strategy.cancels()
	if next.cancel {
		b.Tell(plan.Record{Actor: b.Name, Subject: plan.BidCancelled, Slot: int(a.Slot)}, "")
	}
	b.kept = append(b.kept, one)
	err = b.submit(ctx, one)
	if b.strategy.burst > 0 && err == nil {
		b.burst(ctx, a, duty, built)
	}
	return built.PaidWei, err
}

// burst submits the same block many times at once, each with a bid of its own, a wei lower than the
// one before.
func (b *Bidder) burst(ctx context.Context, a builder.Attributes, duty client.Duty, built *chain.Built) {
	var sending sync.WaitGroup
	places := make(chan struct{}, burstAtOnce)
	for i := range b.strategy.burst {
		value := new(uint256.Int).SubUint64(built.PaidWei, uint64(i)+1)
		one, err := b.sign(a, duty, built, value)
		if err != nil || ctx.Err() != nil {
			break
		}
		places <- struct{}{}
		sending.Go(func() {
			_ = b.submit(ctx, one) // what relays say of it is told
			<-places
		})
	}
	sending.Wait()
}

// burstAtOnce is how many submissions of a burst are under way at a time.
const burstAtOnce = 32

// again sends the submissions of the auction before.
func (b *Bidder) again(ctx context.Context) {
	for _, one := range b.kept {
		_ = b.submit(ctx, one) // what relays say of it is told
	}
	b.kept = nil
}

// submit sends a bid to all relays at once. It is enough if one takes it.
func (b *Bidder) submit(ctx context.Context, one submission) error {
	errs := make([]error, len(b.Relays))
	var sending sync.WaitGroup
	for i, relay := range b.Relays {
		sending.Go(func() {
			_, errs[i] = relay.Client.SubmitBlock(ctx, one.request, client.SubmitOptions{Cancellations: one.cancellations})
			b.tell(one.slot, relay, errs[i])
		})
	}
	sending.Wait()
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errors.Join(errs...)
}

// tell says what a relay answered, if that was not yes.
func (b *Bidder) tell(slot phase0.Slot, relay Relay, err error) {
	r := plan.Record{Actor: b.Name, At: relay.Name, Slot: int(slot), Subject: plan.RequestFailed}
	refused := (*client.Error)(nil)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return
	case errors.As(err, &refused):
		r.Subject, r.ID = plan.RequestRefused, "http-"+strconv.Itoa(refused.Status)
		b.Tell(r, refused.Message)
	default:
		b.Tell(r, "")
	}
}

// duty waits until a relay knows who proposes in a slot; it gives up when the slot begins.
func (b *Bidder) duty(ctx context.Context, slot phase0.Slot) (client.Duty, error) {
	for {
		for _, relay := range b.Relays {
			list, err := relay.Client.Duties(ctx)
			if err != nil {
				b.Log.Debug("fetch duties", "builder", b.Name, "relay", relay.Name, "error", err)
			}
			for _, entry := range list {
				if entry.Slot == slot {
					return entry, nil
				}
			}
		}
		next := b.Clock.Now().Add(b.Spec.SlotDuration / look)
		if next.After(b.Spec.SlotStart(slot)) {
			return client.Duty{}, errors.New("the slot's proposer has not registered")
		}
		if err := b.Clock.Until(ctx, next); err != nil {
			return client.Duty{}, err
		}
	}
}

// pause is a wait on the wall.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
