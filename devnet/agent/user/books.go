package user

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
)

// refund is an entry of the list of delayed refunds.
type refund struct {
	Hash        common.Hash    `json:"hash"`
	Amount      *hexutil.U256  `json:"amount"`
	BlockNumber hexutil.Uint64 `json:"blockNumber"`
	Status      string         `json:"status"`
}

// refundList is the answer of buildernet_getDelayedRefunds.
type refundList struct {
	Refunds     []refund       `json:"refunds"`
	NextCursor  string         `json:"nextCursor"`
	IndexedUpTo hexutil.Uint64 `json:"indexedUpTo"`
}

// errBehind says that the newest block is not counted yet, so that nothing can be compared.
var errBehind = errors.New("the newest block is not indexed")

// askAgain is the wait between two requests, in chain time.
const askAgain = 200 * time.Millisecond

// indexed requests the list until the newest block is counted in it, and returns that block's
// number too. It gives up at the time until.
func (p *Payer) indexed(ctx context.Context, until time.Time) (refundList, hexutil.Uint64, error) {
	for {
		var head hexutil.Uint64
		if err := p.Node.CallContext(ctx, &head, "eth_blockNumber"); err != nil {
			return refundList{}, 0, fmt.Errorf("read the newest block: %w", err)
		}
		list, err := p.list(ctx)
		if err != nil || list.IndexedUpTo == head {
			return list, head, err
		}
		next := p.Clock.Now().Add(askAgain)
		if next.After(until) {
			return list, head, fmt.Errorf("block %d of %d: %w", list.IndexedUpTo, head, errBehind)
		}
		if err := p.Clock.Until(ctx, next); err != nil {
			return list, head, err
		}
	}
}

// list returns all of the recipient's delayed refunds.
func (p *Payer) list(ctx context.Context) (all refundList, err error) {
	for cursor := ""; ; cursor = all.NextCursor {
		var page refundList
		query := map[string]any{"recipient": p.Recipient}
		if cursor != "" {
			query["cursor"] = cursor
		}
		if err := p.OrderFlow.CallContext(ctx, &page, "buildernet_getDelayedRefunds", query); err != nil {
			return all, fmt.Errorf("buildernet_getDelayedRefunds: %w", err)
		}
		all.Refunds = append(all.Refunds, page.Refunds...)
		all.NextCursor, all.IndexedUpTo = page.NextCursor, page.IndexedUpTo
		if page.NextCursor == "" || len(page.Refunds) == 0 {
			return all, nil
		}
	}
}

// balance compares the totals with the list, and what was received with the recipient's balance in
// that block, to the wei. It reports BooksRight if all agree. If the chain has gone on meanwhile,
// it reports nothing, because then the numbers cannot be compared.
func (p *Payer) balance(ctx context.Context, list refundList, head hexutil.Uint64) error {
	var totals struct {
		Pending     *hexutil.U256  `json:"pending"`
		Received    *hexutil.U256  `json:"received"`
		IndexedUpTo hexutil.Uint64 `json:"indexedUpTo"`
	}
	query := map[string]any{"recipient": p.Recipient}
	if err := p.OrderFlow.CallContext(ctx, &totals, "buildernet_getDelayedRefundTotalsByRecipient", query); err != nil {
		return fmt.Errorf("buildernet_getDelayedRefundTotalsByRecipient: %w", err)
	}
	if totals.IndexedUpTo != head {
		return nil
	}
	var has hexutil.U256
	if err := p.Node.CallContext(ctx, &has, "eth_getBalance", p.Recipient, head); err != nil {
		return fmt.Errorf("read the recipient's balance: %w", err)
	}
	pending, received := (*uint256.Int)(totals.Pending), (*uint256.Int)(totals.Received)
	if err := compare(list.Refunds, pending, received, (*uint256.Int)(&has)); err != nil {
		return fmt.Errorf("block %d: %w", head, err)
	}
	p.Tell(devnet.Event{Actor: p.Name, Subject: devnet.BooksRight, At: p.Service, ValueWei: received.Dec()})
	return nil
}

// compare is pure. It returns an error if the totals are not the sums of the list, or if the
// recipient does not have what it is said to have received.
func compare(list []refund, pendingWei, receivedWei, hasWei *uint256.Int) error {
	sums := map[string]*uint256.Int{"pending": new(uint256.Int), "received": new(uint256.Int)}
	for _, one := range list {
		if sum := sums[one.Status]; sum != nil {
			sum.Add(sum, (*uint256.Int)(one.Amount))
		}
	}
	if sums["pending"].Eq(pendingWei) && sums["received"].Eq(receivedWei) && receivedWei.Eq(hasWei) {
		return nil
	}
	return fmt.Errorf("the books are wrong: %s pending and %s received in all, %s and %s in the list, the recipient has "+
		"%s wei", pendingWei, receivedWei, sums["pending"], sums["received"], hasWei)
}
