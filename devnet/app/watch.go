package app

import (
	"context"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/relay"
)

// watch shows what happens until the wanted slots are over or the context ends, and returns the
// summary. A slot is finished when half of the next one has passed: by then the next proposer has
// built on a late block, or has not.
func (l *lab) watch(ctx context.Context) display.Summary {
	s := newStory(l.network.Spec, l.builderNames())
	var sum tally
	orders := newFlow()
	for slot := phase0.Slot(1); l.cfg.Slots == 0 || slot <= phase0.Slot(l.cfg.Slots); slot++ {
		if !l.untilFinished(ctx, s, orders, slot, &sum) {
			break
		}
		shown, delivered := s.finish(slot, l.network.SlotAt(slot))
		shown.Flow = orders.finish()
		paid, err := l.paid(ctx, shown, delivered)
		if err != nil {
			sum.Problems = append(sum.Problems, fmt.Sprintf("slot %d: %v", slot, err))
		}
		sum.add(shown, paid)
		l.page.finished(shown)
		l.out.Slot(shown)
	}
	sum.Flow = orders.count
	return sum.done()
}

// untilFinished shows facts until a slot is finished; false means that the context ended first.
func (l *lab) untilFinished(ctx context.Context, s *story, orders *flow, slot phase0.Slot, sum *tally) bool {
	over := make(chan error, 1)
	go func() {
		over <- l.network.Clock.Until(ctx, l.network.Spec.SlotStart(slot+1).Add(l.cfg.SlotDuration/2))
	}()
	for {
		select {
		case err := <-over:
			return err == nil
		case one := <-l.facts:
			l.page.relayFact(one.fact)
			if _, ok := one.fact.(relay.PayloadDelivered); ok && sum.FirstDelivery == 0 {
				sum.FirstDelivery = time.Since(l.began)
			}
			if shown := s.observe(one); shown != nil {
				l.out.Slot(*shown)
			}
		case fact := <-l.orders:
			l.page.orderFact(fact)
			if orders.observe(fact) {
				l.out.Flow(orders.count)
			}
		}
	}
}

// paid reads from the chain's state what a landed block paid to its proposer. It returns an error
// too if that is less than the bid promised.
func (l *lab) paid(_ context.Context, shown display.Slot, delivered *relay.PayloadDelivered) (*uint256.Int, error) {
	if delivered == nil || !shown.Landed {
		return nil, nil
	}
	paid, err := l.network.PaidBy(delivered.BlockHash, common.Address(delivered.FeeRecipient))
	if err != nil {
		return nil, err
	}
	promised := delivered.ValueWei.Clone()
	if shown.Payload != nil { // the beacon chain pays the value
		promised.Sub(promised, new(uint256.Int).Mul(uint256.NewInt(shown.Payload.ValueGwei), uint256.NewInt(1e9)))
	}
	if paid.Lt(promised) {
		return paid, fmt.Errorf("%s wei were bid, %s wei paid", promised.Dec(), paid.Dec())
	}
	return paid, nil
}
