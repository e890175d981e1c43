package simulate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	corestate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
)

// reach is how many blocks back BLOCKHASH sees.
const reach = 256

// ancestors answers BLOCKHASH for one simulation.
type ancestors struct {
	reader *reader
	db     *corestate.StateDB
	config *params.ChainConfig
}

// hash is that of an ancestor, or of the parent itself; zero for blocks that BLOCKHASH cannot see.
// The EVM takes no error here. So an error makes all later reads of the state fail, and a result
// that was computed with the wrong hash does not count.
func (a *ancestors) hash(number uint64) common.Hash {
	hash, err := a.find(number)
	if err != nil {
		a.reader.fail(fmt.Errorf("hash of block %d: %w", number, err))
		// This read fails, so the state has the error even if the EVM reads nothing more.
		a.db.Exist(common.BytesToAddress([]byte("a read that must fail")))
		return common.Hash{}
	}
	return hash
}

func (a *ancestors) find(number uint64) (common.Hash, error) {
	parent := a.reader.block
	last := parent.Number.Uint64()
	switch {
	case number > last || last-number > reach:
		return common.Hash{}, nil
	case number == last:
		return parent.Hash(), nil
	case number+1 == last:
		return parent.ParentHash, nil
	}
	if a.config.IsPrague(parent.Number, parent.Time) {
		if kept, err := a.readKept(number); err != nil || kept != (common.Hash{}) {
			return kept, err
		}
	}
	return a.reader.states.ancestor(a.reader.ctx, parent, number)
}

// readKept reads a hash from the state itself, which holds those of the last 8,191 blocks since
// prague (EIP-2935).
func (a *ancestors) readKept(number uint64) (common.Hash, error) {
	var slot common.Hash
	binary.BigEndian.PutUint64(slot[24:], number%params.HistoryServeWindow)
	return a.reader.Storage(params.HistoryStorageAddress, slot)
}

// ancestor finds a block's ancestor by the headers between them. It fetches them in one batch by
// number, and checks that each has the parent hash of the next.
func (s *RemoteStates) ancestor(ctx context.Context, block *types.Header, number uint64) (common.Hash, error) {
	want := block.ParentHash
	at := block.Number.Uint64() - 1
	for known, ok := s.headers.Get(want); ok && at > number; known, ok = s.headers.Get(want) {
		want, at = known.ParentHash, at-1
	}
	if at == number {
		return want, nil
	}
	between := make([]*types.Header, at-number)
	err := s.nodes.ask(ctx, "get headers", func(ctx context.Context, _ *node, client *rpc.Client) error {
		return headersFrom(ctx, client, at, between)
	})
	if err != nil {
		return common.Hash{}, err
	}
	for _, header := range between {
		if header.Hash() != want { // the chain was reorganised: fetch this header by its hash
			if header, err = s.headerByHash(ctx, want); err != nil {
				return common.Hash{}, err
			}
		}
		s.headers.Add(want, header)
		want = header.ParentHash
	}
	return want, nil
}

// headersFrom fetches headers from a number downwards.
func headersFrom(ctx context.Context, client *rpc.Client, from uint64, to []*types.Header) error {
	if len(to) == 1 {
		header, err := ethclient.NewClient(client).HeaderByNumber(ctx, new(big.Int).SetUint64(from))
		to[0] = header
		return err
	}
	calls := make([]rpc.BatchElem, len(to))
	for i := range calls {
		calls[i] = rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{rpc.BlockNumber(from - uint64(i)), false},
			Result: &to[i]}
	}
	if err := client.BatchCallContext(ctx, calls); err != nil {
		return err
	}
	for i, call := range calls {
		switch {
		case call.Error != nil:
			return call.Error
		case to[i] == nil:
			return fmt.Errorf("%w: block %d", exec.ErrUnknownBlock, from-uint64(i))
		}
	}
	return nil
}
