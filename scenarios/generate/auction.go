package generate

import (
	"context"
	"fmt"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// slotAuction is the slot that is auctioned.
type slotAuction struct {
	attributes eth.PayloadAttributes
	fork       eth.Fork
	proposer   *proposer
	// duty is nil if the proposer has not registered.
	duty *relay.RegisteredDuty
	key  relay.Key
	// row is what becomes of the slot.
	row  *dataset.Slot
	over bool
	// asked is of how many relays the payload was asked that have not refused it.
	asked int
}

// relayAttributes are the attributes as relays keep them.
func (a *slotAuction) relayAttributes() *relay.Attributes {
	return &relay.Attributes{
		Slot: a.attributes.Slot, ParentHash: a.attributes.ParentHash, ParentNumber: a.attributes.ParentNumber,
		ParentRoot: a.attributes.ParentRoot, Timestamp: a.attributes.Timestamp, PrevRandao: a.attributes.PrevRandao,
		Withdrawals: a.attributes.Withdrawals,
	}
}

// announce begins the auction of a slot on the head.
func (w *world) announce(ctx context.Context, slot phase0.Slot) {
	w.begin(uint64(slot))
	p := w.proposerOf(slot)
	a := &slotAuction{attributes: w.attributesOf(slot), fork: w.spec.ForkAt(slot), proposer: p}
	a.key = relay.Key{Slot: slot, ParentHash: a.attributes.ParentHash, Proposer: p.key}
	if p.registers {
		a.duty = &relay.RegisteredDuty{
			Duty: relay.Duty{Slot: slot, Index: p.index, Proposer: p.key},
			Registration: &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{
				FeeRecipient: p.payee, GasLimit: p.gasLimit, Timestamp: p.registered, Pubkey: p.key,
			}},
		}
	}
	a.row = &dataset.Slot{
		Slot: intOf(slot), SlotStart: timeOf(w.spec.SlotStart(slot)), Source: Source,
		Fork: dataset.Text(a.fork.String()), Proposer: keyOf(p.key),
	}
	w.auction = a
	clear(w.verdicts)
	for _, h := range w.relays {
		h.books.Close(slot)
		h.before, h.counts = h.counts, nil
		h.deliverer.Close(slot - 1)
		h.deliverer.Slots.Close(slot - 1)
	}
	if a.duty != nil {
		for _, b := range w.builders {
			b.tops = make([]*topHeard, len(w.relays))
			w.after(w.draw(b.Name, gossip), func() error {
				if w.auction == a {
					w.enter(ctx, b, a)
				}
				return nil
			})
		}
	}
	w.plan(ctx, a)
}

// dutyOf is what relays know of who proposes in a slot.
func (w *world) dutyOf(slot phase0.Slot) *relay.RegisteredDuty {
	if w.auction != nil && w.auction.attributes.Slot == slot {
		return w.auction.duty
	}
	return nil
}

// announced are the attributes that relays know for an auction.
func (w *world) announced(key relay.Key) *relay.Attributes {
	if w.auction != nil && w.auction.attributes.Slot == key.Slot && w.auction.attributes.ParentHash == key.ParentHash {
		return w.auction.relayAttributes()
	}
	return nil
}

// miss ends a slot without a block.
func (w *world) miss(ctx context.Context, a *slotAuction, because dataset.Text) {
	if a.over {
		return
	}
	a.over = true
	a.row.Outcome, a.row.Because = dataset.Missed, because
	w.rows.Slots = append(w.rows.Slots, a.row)
	w.add(w.spec.SlotStart(a.attributes.Slot).Add(missedAt), func() error {
		w.announce(ctx, a.attributes.Slot+1)
		return nil
	})
}

// block is what the chain takes for a slot.
type block struct {
	contents *relay.Contents
	// sold is the bid that was delivered, nil for a local block.
	sold  *relay.Bid
	relay *house
}

// land puts a block onto the chain, where it is the head from now on.
func (w *world) land(ctx context.Context, a *slotAuction, b block) error {
	a.over = true
	c := b.contents
	before := w.balance(a.proposer)
	commitments := []deneb.KZGCommitment(nil)
	if c.Blobs != nil {
		commitments = c.Blobs.Commitments
	}
	if err := w.node.Import(ctx, c.Fork, c.Payload, commitments, a.attributes.ParentRoot, c.Requests); err != nil {
		return err
	}
	if err := w.node.SetHead(ctx, c.Payload.BlockHash); err != nil {
		return err
	}
	landed := w.node.Chain().GetBlockByHash(common.Hash(c.Payload.BlockHash))
	if landed == nil {
		return fmt.Errorf("block %#x is not in the chain", c.Payload.BlockHash)
	}
	slot := a.attributes.Slot
	mix := w.mixAfter(slot)
	w.head = head{slot: slot, block: landed, root: w.rootOf(slot), mix: mix}
	w.withdrawn += withdrawalsPerBlock
	w.mempool.remove(landed)
	w.rows.Transactions = append(w.rows.Transactions, w.collector.lands(landed)...)
	w.writeLanded(a, b, landed, w.paid(a, before, landed))
	w.after(w.draw("block to "+rpcName, gossip), func() error { return w.orderflow.block(ctx, landed) })
	w.after(2*time.Millisecond, func() error {
		w.announce(ctx, slot+1)
		return nil
	})
	return nil
}

// balance is what a proposer has after the head.
func (w *world) balance(p *proposer) *uint256.Int {
	header := w.head.block.Header()
	state, err := w.node.Chain().StateAt(header.Root, header.Number, header.Time)
	if err != nil {
		return new(uint256.Int)
	}
	return state.GetBalance(common.Address(p.payee)).Clone()
}

// paid is what a block has paid its proposer, as the chain says: by how much its balance rose,
// withdrawals left out.
func (w *world) paid(a *slotAuction, before *uint256.Int, landed *types.Block) *uint256.Int {
	after := w.balance(a.proposer)
	for _, withdrawal := range landed.Withdrawals() {
		if withdrawal.Address == common.Address(a.proposer.payee) {
			after.Sub(after, eth.WeiOf(phase0.Gwei(withdrawal.Amount)))
		}
	}
	return after.Sub(after, before)
}

func (w *world) writeLanded(a *slotAuction, b block, landed *types.Block, paidWei *uint256.Int) {
	row := a.row
	row.Outcome = dataset.Local
	if b.sold != nil {
		row.Outcome, row.Relay = dataset.Landed, dataset.Text(b.relay.name)
		row.Builder, row.ValueWei = keyOf(b.sold.Builder), weiOf(b.sold.ValueWei)
	}
	row.BlockHash, row.ParentHash = hashOf(landed.Hash()), hashOf(landed.ParentHash())
	row.BlockNumber, row.GasUsed = intOf(landed.NumberU64()), intOf(landed.GasUsed())
	row.NumTx, row.PaidWei = intOf(len(landed.Transactions())), weiOf(paidWei)
	w.rows.Slots = append(w.rows.Slots, row)
}

// paidBy is what an execution finds that a delivered block pays.
func (w *world) paidBy(ctx context.Context, a *slotAuction, c *relay.Contents) (*uint256.Int, error) {
	verdict := w.execute(ctx, c, caseOf(a))
	if verdict.Class == exec.Infrastructure {
		return nil, fmt.Errorf("execute the delivered block: %s: %s", verdict.Rule, verdict.Detail)
	}
	return verdict.PaidWei, nil
}
