package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/client"
	"github.com/gavel-relay/gavel/scenarios/agent/bidder"
	"github.com/gavel-relay/gavel/scenarios/agent/sidecar"
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
			Wallets: n.users, ChainID: chainID, PerSlot: l.plan.TxsPerSlot, BlobEvery: l.plan.BlobEvery, Spec: n.spec,
			Clock: n.clock,
			RPC:   l.chain.Attach(), Seed: l.plan.Seed, Log: l.log.With("part", "user"),
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

func (l *lab) builder(i int) (runner, error) {
	if l.hasOrderFlow() && l.plan.Builders[i].Strategy[0].Is("naive") {
		return l.mergingBuilder(i)
	}
	p, n := l.plan.Builders[i], l.network
	beaconURL, err := l.links.to(p.Name, plan.BeaconNode, l.beaconURL)
	if err != nil {
		return nil, err
	}
	cfg := bidder.Config{
		Name: p.Name, Key: n.builderKey(i), Wallet: n.builders[i], Node: l.chain, Spec: n.spec, Clock: l.clockOf(p.Name),
		BeaconURL: beaconURL,
		Strategy:  p.Strategy, TxLimit: max(1, l.plan.TxsPerSlot*3/2), Tell: l.told, Log: l.log.With("part", p.Name),
	}
	for _, one := range l.relays {
		url, err := l.links.to(p.Name, one.name, one.met)
		if err != nil {
			return nil, err
		}
		relay, err := client.New(url, client.Options{})
		if err != nil {
			return nil, fmt.Errorf("connect %s with %s: %w", p.Name, one.name, err)
		}
		to := bidder.Relay{Name: one.name, Client: relay}
		if stalls(p.Strategy) { // a proxy would read for it
			if to.TopBids, err = client.New(one.met, client.Options{HTTP: narrowClient()}); err != nil {
				return nil, fmt.Errorf("connect %s with %s: %w", p.Name, one.name, err)
			}
		}
		cfg.Relays = append(cfg.Relays, to)
	}
	return bidder.New(cfg).Run, nil
}

// mergingBuilder is the devnet's builder, which takes orders, merges them and pays refunds. It bids
// naively.
func (l *lab) mergingBuilder(i int) (runner, error) {
	p, n := l.plan.Builders[i], l.network
	beaconURL, err := l.links.to(p.Name, plan.BeaconNode, l.beaconURL)
	if err != nil {
		return nil, err
	}
	cfg := builder.Config{
		Name: p.Name, Key: n.builderKey(i), Wallet: n.builders[i], Node: l.chain,
		Signer: types.LatestSigner(l.chain.Chain().Config()),
		Orders: l.flow.builders[i], Spec: n.spec, Clock: l.clockOf(p.Name), BeaconURL: beaconURL,
		TxLimit: max(1, l.plan.TxsPerSlot*3/2),
		Seed:    l.plan.Seed + uint64(i)*1000 + 1, Log: l.log.With("part", p.Name),
	}
	for _, one := range l.relays {
		url, err := l.links.to(p.Name, one.name, one.met)
		if err != nil {
			return nil, err
		}
		relay, err := client.New(url, client.Options{})
		if err != nil {
			return nil, fmt.Errorf("connect %s with %s: %w", p.Name, one.name, err)
		}
		cfg.Relays = append(cfg.Relays, relay)
	}
	return builder.New(cfg).Run, nil
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
		keys[i] = l.beacon.ValidatorKey(i)
	}
	// Who wants to learn a payload asks by the endpoint that answers with it.
	honest := &proposer.Aggregator{Spec: n.spec, V1: l.anyMove("unbundle", "equivocate", "replay"),
		Log: l.log.With("part", "sidecar")}
	for _, one := range l.relays {
		url, err := l.links.to(plan.ProposersName, one.name, one.met)
		if err != nil {
			return nil, err
		}
		witness := &sidecar.Witness{RoundTripper: &http.Transport{MaxIdleConnsPerHost: 16}, Relay: one.name, Tell: l.told}
		relay, err := client.New(url, client.Options{HTTP: &http.Client{Transport: witness}})
		if err != nil {
			return nil, fmt.Errorf("connect proposers with %s: %w", one.name, err)
		}
		honest.Relays = append(honest.Relays, proposer.Relay{Client: relay, Pubkey: n.relayKey(one.index).PublicKey()})
	}
	clock := l.clockOf(plan.ProposersName)
	games := sidecar.New(sidecar.Config{
		Honest: honest, Spec: n.spec, Clock: clock, Keys: keys, Plans: l.plan.Proposers, Log: l.log.With("part", "sidecar"),
	})
	l.validators = proposer.New(proposer.Config{
		Keys: keys, FeeRecipient: n.payee, GasLimit: gasLimit, Spec: n.spec, Clock: clock, BeaconURL: beaconURL,
		Sidecar: games,
		// The pool is everybody's, so a local block earns as much as a builder's; without a preference
		// there would be nothing to auction.
		BuilderBoostFactor: proposer.PreferBuilder, HeaderTimeout: l.headerTimeout(), SubmitTimeout: wallTime(l.plan.Slot,
			l.plan.Speed),
		Breaker: l.plan.Breaker, BreakerOpened: func(slot phase0.Slot) {
			l.told(plan.Record{Actor: plan.ProposersName, Subject: plan.BreakerOpened, Slot: int(slot)}, "")
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

// told writes down what an agent says. A refusal that the relay's catalogue knows by its text gets
// the id that it has there.
func (l *lab) told(r plan.Record, message string) {
	if r.Subject == plan.RequestRefused {
		r.ID = refusalID(r.ID, message)
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
		if l.network.clock.Until(ctx, l.network.spec.SlotStart(phase0.Slot(slot)).Add(-l.plan.Slot/8)) != nil {
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
