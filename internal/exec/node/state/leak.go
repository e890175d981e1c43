package state

import (
	"context"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
)

// leak offers transactions to a node's public pool, which nothing in this house may do: only defects call it (internal/defect), so a program that is
// built without them does not have it. What the node says to it changes nothing.
func (s *States) leak(ctx context.Context, txs []exec.Tx) {
	for _, tx := range txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			continue // its simulation fails as well, and says why
		}
		_ = s.nodes.ask(ctx, "leak a transaction", func(ctx context.Context, _ *node, client *rpc.Client) error {
			_ = client.CallContext(ctx, nil, "eth_sendRawTransaction", hexutil.Bytes(raw)) // a refusal says nothing about the node
			return nil
		})
	}
}
