package method

import (
	"cmp"
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// delayedParams asks for delayed refunds.
type delayedParams struct {
	Recipient *bundle.Address   `json:"recipient"`
	From      bundle.Number     `json:"blockRangeFrom"`
	To        bundle.Number     `json:"blockRangeTo"`
	Cursor    string            `json:"cursor"`
	Hash      *bundle.HashParam `json:"hash"`
}

// query checks the parameters against each other.
func (p *delayedParams) query() (rpc.DelayedQuery, error) {
	q := rpc.DelayedQuery{Hash: (*common.Hash)(p.Hash)}
	if p.From.Set {
		q.FromBlock = &p.From.Value
	}
	if p.To.Set {
		q.ToBlock = &p.To.Value
	}
	switch {
	case p.Recipient == nil:
		return q, bundle.MissingParam("params[0].recipient")
	case q.Hash != nil && (q.FromBlock == nil || q.ToBlock == nil):
		return q, rpc.InvalidRange.With("params[0].hash needs both blockRangeFrom and blockRangeTo")
	case q.FromBlock != nil && q.ToBlock != nil && *q.FromBlock > *q.ToBlock:
		return q, rpc.InvalidRange.With("params[0].blockRangeFrom: %d is above blockRangeTo %d", *q.FromBlock, *q.ToBlock)
	}
	q.Recipient = common.Address(*p.Recipient)
	return q, nil
}

var delayedRange = []field{
	needs("recipient", address, "who gets the refunds"),
	may("blockRangeFrom", anyNumber, "first block"),
	may("blockRangeTo", anyNumber, "last block"),
}

// delayedRefunds is buildernet_getDelayedRefunds.
func (m *Methods) delayedRefunds() Method {
	return Method{
		Name:    "buildernet_getDelayedRefunds",
		Summary: "List the refunds of a recipient that are paid outside of the block.",
		About:   "Bounds are inclusive. An empty page with a cursor means that there may be more later: ask again.",
		Params: []Param{required("query", object(append(delayedRange[:3:3],
			may("cursor", text, "of the page before"),
			may("hash", hash, "one bundle only; needs both bounds"),
		)...)), optional("cursor", text)},
		Example: `[{"recipient":"'$ADDRESS'","blockRangeFrom":"0x1","blockRangeTo":"0x1"}]`,
		Result: object(
			needs("refunds", refundRecords, "oldest block first"),
			may("nextCursor", text, "for the next page; only if there is one"),
			needs("indexedUpTo", quantity, "newest block whose refunds are all counted"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.InvalidRange, rpc.InvalidCursor, rpc.NotReady},
		Do: func(ctx context.Context, call *Call) (any, error) {
			var p delayedParams
			var second string
			if err := bundle.ReadPositional(call.Params, &p, &second); err != nil {
				return nil, err
			}
			q, err := p.query()
			if err != nil {
				return nil, err
			}
			page, err := m.Delayed.Delayed(ctx, q, cmp.Or(p.Cursor, second), m.pageSize())
			if err != nil {
				return nil, err
			}
			return struct {
				Refunds     []refundRecord `json:"refunds"`
				NextCursor  string         `json:"nextCursor,omitempty"`
				IndexedUpTo hexutil.Uint64 `json:"indexedUpTo"`
			}{recordsOf(page), page.Cursor, hexutil.Uint64(page.UpTo)}, nil
		},
	}
}
