package app

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/fault"
)

// cast prepares the agents of the run. Every connection of theirs goes through a proxy.
func (l *planRun) cast() *app.Cast {
	c := &app.Cast{
		Network: l.network, BeaconURL: l.beaconURL, TxsPerSlot: l.plan.TxsPerSlot, BlobEvery: l.plan.BlobEvery,
		Link: l.links.to, ClockOf: func(name string) clock.Clock { return l.clockOf(name) }, Tell: l.record, Log: l.log,
	}
	for _, one := range l.relays {
		key := network.RelayKey(l.plan.Seed, one.index).PublicKey()
		c.Relays = append(c.Relays, app.Relay{Name: one.name, URL: one.met, Pubkey: key})
	}
	if l.hasOrderFlow() {
		c.RPCURL, c.StreamURL = l.flow.rpc.url(), l.flow.stream.url()
	}
	return c
}

// agents returns all agents of the run.
func (l *planRun) agents(ctx context.Context) ([]app.Runner, error) {
	cast := l.cast()
	list, err := l.orderFlowAgents(ctx, cast)
	if err != nil {
		return nil, err
	}
	if l.plan.TxsPerSlot > 0 {
		list = append(list, cast.Users())
	}
	if l.validators, err = l.proposers(cast); err != nil {
		return nil, err
	}
	list = append(list, l.validators.Run)
	for i := range l.plan.Builders {
		one, err := l.builder(cast, i)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// builder returns a builder of the plan. If the plan has order flow, the builder takes orders too.
func (l *planRun) builder(cast *app.Cast, i int) (app.Runner, error) {
	strategy := moves(l.plan.Builders[i].Strategy)
	if strategy.has("offline") {
		return app.Idle, nil
	}
	only, _ := strategy.find("only")
	role := app.BuilderRole{Strategy: strategy.bidding(), Conduct: strategy.conduct(), Only: only.Name, Listens: true}
	if l.hasOrderFlow() {
		role.Orders = l.flow.builders[i]
	}
	if l.hasOrderFlow() && strategy[0].Is("naive") {
		role.Strategy = nil // so a naive builder with order flow bids as in a devnet
	}
	if stalls(strategy) { // a proxy would read from the stream in its place
		role.Direct = narrowClient()
	}
	return cast.Builder(i, role)
}

// proposers returns all validators behind one sidecar. If a strategy wants to see a payload, the
// sidecar uses version 1 of the endpoint, which answers with the payload.
func (l *planRun) proposers(cast *app.Cast) (*proposer.Proposer, error) {
	return cast.Proposers(app.ProposerRole{
		Conduct: conductOf(l.plan.Proposers), Storm: stormOf(l.plan.Proposers),
		V1:            l.anyMove("unbundle", "equivocate", "replay"),
		HeaderTimeout: l.headerTimeout(), SubmitTimeout: wallTime(l.plan.Slot, l.plan.Speed),
		Breaker: l.plan.Breaker, BreakerOpened: func(slot phase0.Slot) {
			l.book.add(scenarios.Record{Actor: scenarios.ProposersName, Subject: scenarios.BreakerOpened, Slot: int(slot)},
				time.Time{}, nil)
		},
	})
}

// headerTimeout returns how long the sidecar waits for a header, in wall time: a whole slot if a
// strategy of the plan asks late or repeatedly, or else mev-boost's 950 ms, at most half a slot.
func (l *planRun) headerTimeout() time.Duration {
	if l.anyMove("request", "repeat") {
		return wallTime(l.plan.Slot, l.plan.Speed)
	}
	return min(950*time.Millisecond, wallTime(l.plan.Slot, l.plan.Speed)/2)
}

// anyMove says whether a proposer of the plan has a move that begins with one of these words.
func (l *planRun) anyMove(words ...string) bool {
	return slices.ContainsFunc(l.plan.Proposers, func(p scenarios.ProposerPlan) bool {
		return slices.ContainsFunc(p.Strategy, func(m scenarios.Move) bool { return m.Is(words...) })
	})
}

// record records an agent's event as a fact.
func (l *planRun) record(e devnet.Event) {
	r := scenarios.Record{Actor: e.Actor, At: e.At, Subject: e.Subject, Slot: e.Slot, ValueWei: e.ValueWei}
	if e.Subject == devnet.RequestRefused {
		r.ID = cmp.Or(e.Refusal, "http-"+strconv.Itoa(e.Status))
	}
	l.book.add(r, time.Time{}, e.Fact)
}

// offline disconnects the validators from their node in the slots in which the plan has them
// offline, so that nothing is proposed then.
func (l *planRun) offline(ctx context.Context) error {
	link := scenarios.Link{From: scenarios.ProposersName, To: scenarios.BeaconNode}
	const id = -1000
	for slot := 1; slot <= l.plan.Slots; slot++ {
		if l.clock.Until(ctx, l.network.Spec.SlotStart(phase0.Slot(slot)).Add(-l.plan.Slot/8)) != nil {
			return nil
		}
		if err := l.links.end(id); err != nil {
			return err
		}
		for _, one := range l.plan.Proposers {
			if one.Slots.Has(slot) && slices.ContainsFunc(one.Strategy, func(m scenarios.Move) bool { return m.Is("offline") }) {
				if err := l.links.begin(id, link, fault.Condition{Answer: http.StatusServiceUnavailable}); err != nil {
					return err
				}
			}
		}
	}
	<-ctx.Done()
	return nil
}
