package method

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/rpc"
)

// Refunds lists what the ledger has at a time, the oldest block first. A cursor that does not fit
// its query is a *rpc.Refused; the empty one begins the list.
type Refunds interface {
	ByRecipient(ctx context.Context, at time.Time, recipient common.Address, cursor string,
		limit int) (rpc.RefundPage, error)
	ByBundle(ctx context.Context, at time.Time, hash common.Hash, cursor string, limit int) (rpc.RefundPage, error)
	ByBlock(ctx context.Context, at time.Time, block uint64, cursor string, limit int) (rpc.RefundPage, error)
	// Totals sums up a recipient's refunds.
	Totals(ctx context.Context, at time.Time, recipient common.Address) (rpc.RefundTotals, error)
}

// DelayedRefunds lists the refunds that are paid outside of the block.
type DelayedRefunds interface {
	Delayed(ctx context.Context, query rpc.DelayedQuery, cursor string, limit int) (rpc.RefundPage, error)
	// DelayedTotals sums up those of a recipient in blocks from and to, inclusive; nil sets no
	// bound.
	DelayedTotals(ctx context.Context, recipient common.Address, from, to *uint64) (rpc.RefundTotals, error)
}

// refundsPerPage is how many refunds a page has at most, unless Methods says otherwise.
const refundsPerPage = 500

// pageSize is the most refunds that a page has.
func (m *Methods) pageSize() int { return cmp.Or(m.RefundsPerPage, refundsPerPage) }

// refundRecord is one refund.
type refundRecord struct {
	Hash        common.Hash    `json:"hash"`
	Amount      *hexutil.U256  `json:"amount"`
	BlockNumber hexutil.Uint64 `json:"blockNumber"`
	Status      string         `json:"status"`
	Recipient   common.Address `json:"recipient"`
}

// refundList answers the methods of fee refunds. It has a cursor only if there is more.
type refundList struct {
	Refunds []refundRecord `json:"refunds"`
	Cursor  string         `json:"cursor,omitempty"`
}

// refundRecords is the schema of a list of refunds.
var refundRecords = listOf(object(
	needs("hash", hash,
		"bundle or transaction that the refund is for; if it is paid outside of the block, the bundle that brought it"),
	needs("amount", quantity, "in wei"),
	needs("blockNumber", quantity, "block with the order"),
	needs("status", oneOfWords("pending", "received"), "received once its payout is on the chain"),
	needs("recipient", address, "who gets it"),
))

var refundListSchema = object(
	needs("refunds", refundRecords, "oldest block first"),
	may("cursor", text, "for the next page; only if there is one"),
)

// answerPage answers with a page.
func answerPage(page rpc.RefundPage, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return refundList{Refunds: recordsOf(page), Cursor: page.Cursor}, nil
}

func recordsOf(page rpc.RefundPage) []refundRecord {
	records := make([]refundRecord, len(page.Refunds)) // [] and not null when there are none
	for i, r := range page.Refunds {
		status := "pending"
		if r.Received {
			status = "received"
		}
		hash := r.Hash
		if r.Delayed && r.Bundle != (common.Hash{}) { // the interface description asks for this hash
			hash = r.Bundle
		}
		records[i] = refundRecord{
			Hash: hash, Amount: hexOf(r.AmountWei), BlockNumber: hexutil.Uint64(r.Block), Status: status, Recipient: r.Recipient,
		}
	}
	return records
}

// lower writes an address in the form of these methods.
func lower(a common.Address) string { return strings.ToLower(a.Hex()) }
