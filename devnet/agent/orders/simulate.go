package orders

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
)

// Reasons why an order cannot be added to a draft.
var (
	errReverted = errors.New("a transaction that may not revert does")
	errTwice    = errors.New("one of its transactions is in the block already")
	errLoss     = errors.New("the builder would lose by it")
)

// result is an order that can be added to a draft, with what it brings.
type result struct {
	order *Order
	// valueWei is what the coinbase gains by the order after all refunds; refundWei is the sum of
	// the refunds.
	valueWei, refundWei *uint256.Int
}

// simulate tries an order at the end of a draft, without changing the draft.
func (in *Intake) simulate(ctx context.Context, draft *chain.Draft, order *Order) (*result, error) {
	_, r, err := in.place(ctx, draft, order)
	return r, err
}

// place adds an order to a copy of a draft, with the payouts of its refunds, and returns the copy.
func (in *Intake) place(ctx context.Context, draft *chain.Draft, order *Order) (*chain.Draft, *result, error) {
	p := placing{draft: draft.Fork(), wallet: in.wallet, refundWei: new(uint256.Int)}
	before := p.draft.GainWei()
	if _, err := p.bundle(ctx, &order.Bundle); err != nil {
		return nil, nil, err
	}
	after := p.draft.GainWei()
	if after.Lt(before) {
		return nil, nil, errLoss
	}
	return p.draft, &result{order: order, valueWei: after.Sub(after, before), refundWei: p.refundWei}, nil
}

// placing adds one order to a draft, which is discarded if that fails.
type placing struct {
	draft     *chain.Draft
	wallet    *ecdsa.PrivateKey
	refundWei *uint256.Int
}

// bundle executes a bundle's elements and pays its refunds right after them. It returns what the
// bundle brought: what its transactions paid, less the refunds.
func (p *placing) bundle(ctx context.Context, b *Bundle) (*uint256.Int, error) {
	sum, list := new(uint256.Int), make([]brought, len(b.Elements))
	for i, e := range b.Elements {
		wei, err := p.element(ctx, e)
		if err != nil {
			return nil, err
		}
		list[i] = brought{e, wei}
		sum.Add(sum, wei)
	}
	cost := new(uint256.Int).Mul(p.draft.BaseFeeWei(), uint256.NewInt(payoutGas))
	for _, payout := range b.payouts(list, cost) {
		if err := p.payOut(ctx, payout); err != nil {
			return nil, err
		}
		sum.Sub(sum, payout.AmountWei) // refunds are a part of what was brought
	}
	return sum, nil
}

func (p *placing) element(ctx context.Context, e Element) (*uint256.Int, error) {
	if e.Bundle != nil {
		return p.bundle(ctx, e.Bundle)
	}
	return p.tx(ctx, e.Tx)
}

// tx executes a transaction and returns what it paid to the coinbase. If the transaction may be
// dropped, a copy of the draft is made first, to which tx returns if the transaction fails.
func (p *placing) tx(ctx context.Context, tx *Tx) (*uint256.Int, error) {
	if p.draft.Has(tx.Hash()) {
		if tx.CanDrop {
			return new(uint256.Int), nil
		}
		return nil, errTwice
	}
	before := p.draft
	if tx.CanDrop {
		before = p.draft.Fork()
	}
	out, err := p.draft.Apply(ctx, tx.Transaction)
	if err == nil && !out.Succeeded && !tx.CanRevert {
		err = errReverted
	}
	switch {
	case err == nil:
		return out.PaidWei, nil
	case tx.CanDrop:
		p.draft = before
		return new(uint256.Int), nil
	}
	return nil, fmt.Errorf("transaction %s: %w", tx.Hash(), err)
}

// payOut pays a refund by a transaction of the coinbase.
func (p *placing) payOut(ctx context.Context, payout Payout) error {
	transfer := chain.Payment{From: p.wallet, To: payout.To, ValueWei: payout.AmountWei}
	switch out, err := p.draft.Transfer(ctx, transfer, payoutGas); {
	case err != nil:
		return fmt.Errorf("pay out %s wei to %s: %w", payout.AmountWei, payout.To, err)
	case !out.Succeeded:
		return fmt.Errorf("pay out %s wei to %s: %w", payout.AmountWei, payout.To, errReverted)
	}
	p.refundWei.Add(p.refundWei, payout.AmountWei)
	return nil
}
