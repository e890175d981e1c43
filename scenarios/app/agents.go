package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/client"
	"github.com/gavel-relay/gavel/scenarios/fault"
	"github.com/gavel-relay/gavel/scenarios/plan"
)

// runner runs until its context ends, and returns nil then.
type runner func(context.Context) error

// agents are all outsiders of the run. They are given addresses and keys, nothing of what runs
// behind the addresses.
func (l *lab) agents(ctx context.Context) ([]runner, error) {
	list, err := l.traders(ctx)
	if err != nil {
		return nil, err
	}
	if l.plan.TxsPerSlot > 0 {
		n := l.network
		list = append(list, user.New(user.Config{
			Wallets: n.Users, ChainID: network.ChainID, PerSlot: l.plan.TxsPerSlot, BlobEvery: l.plan.BlobEvery, Spec: n.Spec,
			Clock: l.clock,
			RPC:   l.network.Chain.Attach(), Seed: l.plan.Seed, Log: l.log.With("part", "user"),
		}).Run)
	}
	proposers, err := l.proposers()
	if err != nil {
		return nil, err
	}
	list = append(list, proposers)
	for i := range l.plan.Builders {
		one, err := l.builder(i)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// builder is a builder of the plan. Where there is order flow it takes orders, too.
func (l *lab) builder(i int) (runner, error) {
	p := l.plan.Builders[i]
	strategy := moves(p.Strategy)
	if strategy.has("offline") {
		return idle, nil
	}
	beaconURL, err := l.links.to(p.Name, plan.BeaconNode, l.beaconURL)
	if err != nil {
		return nil, err
	}
	cfg := builder.Config{
		Name: p.Name, Key: l.network.BuilderKey(i), Wallet: l.network.Builders[i], Node: l.network.Chain,
		Signer: types.LatestSigner(l.network.Chain.Chain().Config()), Spec: l.network.Spec, Clock: l.clockOf(p.Name),
		BeaconURL: beaconURL, Strategy: strategy.bidding(), Conduct: strategy.conduct(),
		TxLimit: max(1, l.plan.TxsPerSlot*3/2), Tell: l.told, Log: l.log.With("part", p.Name),
	}
	if l.hasOrderFlow() {
		cfg.Orders = l.flow.builders[i]
	}
	if l.hasOrderFlow() && strategy[0].Is("naive") {
		cfg.Seed = l.plan.Seed + uint64(i)*1000 + 1
		cfg.Strategy = builder.Usual{Seed: cfg.Seed}
	}
	only, _ := strategy.find("only")
	for _, one := range l.relays {
		if only.Name != "" && only.Name != one.name {
			continue
		}
		relay, err := l.relayOf(p, one)
		if err != nil {
			return nil, fmt.Errorf("connect %s with %s: %w", p.Name, one.name, err)
		}
		cfg.Relays = append(cfg.Relays, relay)
	}
	return builder.New(cfg).Run, nil
}

// idle is an agent that does nothing.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// relayOf is a relay as a builder meets it. One that stalls hears of leading bids on a connection
// of its own, since a proxy would read for it.
func (l *lab) relayOf(p plan.BuilderPlan, one *relayService) (relay builder.Relay, err error) {
	url, err := l.links.to(p.Name, one.name, one.met)
	if err != nil {
		return relay, err
	}
	relay.Name = one.name
	if relay.Client, err = client.New(url, client.Options{}); err != nil {
		return relay, err
	}
	relay.TopBids = relay.Client
	if stalls(p.Strategy) {
		relay.TopBids, err = client.New(one.met, client.Options{HTTP: narrowClient()})
	}
	return relay, err
}

// proposers are all validators behind one sidecar.
func (l *lab) proposers() (runner, error) {
	n := l.network
	beaconURL, err := l.links.to(plan.ProposersName, plan.BeaconNode, l.beaconURL)
	if err != nil {
		return nil, err
	}
	keys := make(map[phase0.ValidatorIndex]*bls.SecretKey, l.plan.Validators)
	for i := range phase0.ValidatorIndex(l.plan.Validators) {
		keys[i] = l.network.Beacon.ValidatorKey(i)
	}
	// Who wants to learn a payload asks by the endpoint that answers with it.
	honest := &proposer.Aggregator{Spec: n.Spec, V1: l.anyMove("unbundle", "equivocate", "replay"),
		Log: l.log.With("part", "sidecar")}
	for _, one := range l.relays {
		url, err := l.links.to(plan.ProposersName, one.name, one.met)
		if err != nil {
			return nil, err
		}
		witness := &proposer.Witness{
			RoundTripper: &http.Transport{MaxIdleConnsPerHost: 16}, Name: plan.ProposersName, Relay: one.name, Tell: l.told,
		}
		relay, err := client.New(url, client.Options{HTTP: &http.Client{Transport: witness}})
		if err != nil {
			return nil, fmt.Errorf("connect proposers with %s: %w", one.name, err)
		}
		honest.Relays = append(honest.Relays,
			proposer.Relay{Client: relay, Pubkey: network.RelayKey(l.plan.Seed, one.index).PublicKey()})
	}
	clock := l.clockOf(plan.ProposersName)
	games := &proposer.Games{
		Honest: honest, Strategy: conductOf(l.plan.Proposers), Storm: stormOf(l.plan.Proposers), Spec: n.Spec, Clock: clock,
		Keys: keys, Log: l.log.With("part", "sidecar"),
	}
	l.validators = proposer.New(proposer.Config{
		Keys: keys, FeeRecipient: n.Payee, GasLimit: network.GasLimit, Spec: n.Spec, Clock: clock, BeaconURL: beaconURL,
		Sidecar: games,
		// The pool is everybody's, so a local block earns as much as a builder's; without a preference
		// there would be nothing to auction.
		BuilderBoostFactor: proposer.PreferBuilder, HeaderTimeout: l.headerTimeout(), SubmitTimeout: wallTime(l.plan.Slot,
			l.plan.Speed),
		Breaker: l.plan.Breaker, BreakerOpened: func(slot phase0.Slot) {
			l.book.add(plan.Record{Actor: plan.ProposersName, Subject: plan.BreakerOpened, Slot: int(slot)}, time.Time{}, nil)
		},
		Log: l.log.With("part", "proposers"),
	})
	return l.validators.Run, nil
}

// headerTimeout is the usual one, or long enough for what a plan's proposers wait for.
func (l *lab) headerTimeout() time.Duration {
	if l.anyMove("request", "repeat") {
		return wallTime(l.plan.Slot, l.plan.Speed)
	}
	return min(950*time.Millisecond, wallTime(l.plan.Slot, l.plan.Speed)/2)
}

// anyMove says whether a proposer of the plan has a move that begins with one of the words.
func (l *lab) anyMove(words ...string) bool {
	return slices.ContainsFunc(l.plan.Proposers, func(p plan.ProposerPlan) bool {
		return slices.ContainsFunc(p.Strategy, func(m plan.Move) bool { return m.Is(words...) })
	})
}

// told writes down what an agent tells. A refusal that the relay's catalogue knows by its text gets
// the id that it has there.
func (l *lab) told(e devnet.Event) {
	r := plan.Record{Actor: e.Actor, At: e.At, Subject: e.Subject, Slot: e.Slot, ValueWei: e.ValueWei}
	if e.Subject == devnet.RequestRefused {
		r.ID = refusalID("http-"+strconv.Itoa(e.Status), e.Message)
	}
	l.book.add(r, time.Time{}, nil)
}

// refusalID finds the refusal whose short text a message begins with; the longest one wins.
func refusalID(usual, message string) string {
	best := relay.Refusal{ID: usual}
	for _, one := range relay.Refusals {
		if (message == one.Short || strings.HasPrefix(message, one.Short+":")) && len(one.Short) > len(best.Short) {
			best = one
		}
	}
	return best.ID
}

// offline cuts validators off from their node in the slots in which the plan has them offline: then
// nothing is proposed.
func (l *lab) offline(ctx context.Context) error {
	link := plan.Link{From: plan.ProposersName, To: plan.BeaconNode}
	const id = -1000
	for slot := 1; slot <= l.plan.Slots; slot++ {
		if l.clock.Until(ctx, l.network.Spec.SlotStart(phase0.Slot(slot)).Add(-l.plan.Slot/8)) != nil {
			return nil
		}
		if err := l.links.end(id); err != nil {
			return err
		}
		for _, one := range l.plan.Proposers {
			if one.Slots.Has(slot) && slices.ContainsFunc(one.Strategy, func(m plan.Move) bool { return m.Is("offline") }) {
				if err := l.links.begin(id, link, fault.Condition{Answer: http.StatusServiceUnavailable}); err != nil {
					return err
				}
			}
		}
	}
	<-ctx.Done()
	return nil
}
