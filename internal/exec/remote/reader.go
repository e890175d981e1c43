package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"
)

// reader reads the state of one block for one simulation; its questions end with the context. It implements state.Reader.
type reader struct {
	ctx   context.Context //nolint:containedctx // the interface has none, and the reader lives for one simulation
	node  *Node
	block common.Hash
	cache *blockCache
}

// at names the block in a question (EIP-1898).
func (r *reader) at() map[string]any { return map[string]any{"blockHash": r.block} }

// Account implements state.StateReader. An empty account does not exist (EIP-161).
func (r *reader) Account(address common.Address) (*types.StateAccount, error) {
	account, err := cached(r.cache, r.cache.accounts, address, "a"+string(address[:]), func() (*types.StateAccount, error) {
		var account *types.StateAccount
		return account, r.node.ask(r.ctx, func(ctx context.Context, client *rpc.Client) (err error) {
			account, err = r.account(ctx, client, address)
			return err
		})
	})
	if err != nil || account == nil {
		return nil, err
	}
	return account.Copy(), nil // the caller may change it
}

// account asks for a proof, which has all of an account, or for its parts where a node gives no proofs.
func (r *reader) account(ctx context.Context, client *rpc.Client, address common.Address) (*types.StateAccount, error) {
	var proof struct {
		Balance     *hexutil.U256  `json:"balance"`
		Nonce       hexutil.Uint64 `json:"nonce"`
		CodeHash    common.Hash    `json:"codeHash"`
		StorageHash common.Hash    `json:"storageHash"`
	}
	err := client.CallContext(ctx, &proof, "eth_getProof", address, []string{}, r.at())
	if refused := (rpc.Error)(nil); errors.As(err, &refused) && !aboutTheBlock(err) {
		return r.parts(ctx, client, address)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for account %s: %w", address, err)
	}
	if proof.Balance == nil {
		return nil, fmt.Errorf("ask for account %s: the answer has no balance", address)
	}
	return accountOf(uint64(proof.Nonce), (*uint256.Int)(proof.Balance), proof.CodeHash, proof.StorageHash), nil
}

// parts asks for balance, nonce and code at once. The storage root stays unknown: it matters only to who creates a contract at an address that
// has storage but neither nonce nor code, which no account has.
func (r *reader) parts(ctx context.Context, client *rpc.Client, address common.Address) (*types.StateAccount, error) {
	var balance *hexutil.U256
	var nonce *hexutil.Uint64
	var code hexutil.Bytes
	batch := []rpc.BatchElem{
		{Method: "eth_getBalance", Args: []any{address, r.at()}, Result: &balance},
		{Method: "eth_getTransactionCount", Args: []any{address, r.at()}, Result: &nonce},
		{Method: "eth_getCode", Args: []any{address, r.at()}, Result: &code},
	}
	if err := client.BatchCallContext(ctx, batch); err != nil {
		return nil, fmt.Errorf("ask for account %s: %w", address, err)
	}
	for _, part := range batch {
		if part.Error != nil {
			return nil, fmt.Errorf("ask for account %s: %s: %w", address, part.Method, part.Error)
		}
	}
	if balance == nil || nonce == nil {
		return nil, fmt.Errorf("ask for account %s: an answer is empty", address)
	}
	codeHash := crypto.Keccak256Hash(code)
	r.node.codes.Add(codeHash, code)
	return accountOf(uint64(*nonce), (*uint256.Int)(balance), codeHash, types.EmptyRootHash), nil
}

// accountOf is nil for an empty account.
func accountOf(nonce uint64, balance *uint256.Int, codeHash, root common.Hash) *types.StateAccount {
	if codeHash == (common.Hash{}) {
		codeHash = types.EmptyCodeHash
	}
	if root == (common.Hash{}) {
		root = types.EmptyRootHash
	}
	if nonce == 0 && balance.IsZero() && codeHash == types.EmptyCodeHash && root == types.EmptyRootHash {
		return nil
	}
	return &types.StateAccount{Nonce: nonce, Balance: balance, Root: root, CodeHash: codeHash[:]}
}

// Storage implements state.StateReader.
func (r *reader) Storage(address common.Address, slot common.Hash) (common.Hash, error) {
	name := "s" + string(address[:]) + string(slot[:])
	return cached(r.cache, r.cache.slots, slotKey{address, slot}, name, func() (value common.Hash, err error) {
		return value, r.node.ask(r.ctx, func(ctx context.Context, client *rpc.Client) error {
			var raw hexutil.Bytes
			if err := client.CallContext(ctx, &raw, "eth_getStorageAt", address, slot, r.at()); err != nil {
				return fmt.Errorf("ask for slot %s of %s: %w", slot, address, err)
			}
			if len(raw) > common.HashLength {
				return fmt.Errorf("ask for slot %s of %s: the answer has %d bytes", slot, address, len(raw))
			}
			value = common.BytesToHash(raw)
			return nil
		})
	})
}

// Code implements state.ContractCodeReader. Nil is an error of the state, which the simulation ends with.
func (r *reader) Code(address common.Address, codeHash common.Hash) []byte {
	if codeHash == types.EmptyCodeHash {
		return nil
	}
	if code, known := r.node.codes.Get(codeHash); known {
		return code
	}
	code, err, _ := r.cache.asking.Do("c"+string(codeHash[:]), func() (any, error) {
		var code hexutil.Bytes
		err := r.node.ask(r.ctx, func(ctx context.Context, client *rpc.Client) error {
			if err := client.CallContext(ctx, &code, "eth_getCode", address, r.at()); err != nil {
				return fmt.Errorf("ask for the code of %s: %w", address, err)
			}
			if got := crypto.Keccak256Hash(code); got != codeHash {
				return fmt.Errorf("ask for the code of %s: its hash is %s, not %s", address, got, codeHash)
			}
			return nil
		})
		if err != nil {
			r.node.cfg.Log.Warn("code could not be read", "error", err)
			return nil, err
		}
		r.node.codes.Add(codeHash, code)
		return []byte(code), nil
	})
	if err != nil {
		return nil
	}
	return code.([]byte)
}

// CodeSize implements state.ContractCodeReader.
func (r *reader) CodeSize(address common.Address, codeHash common.Hash) int {
	return len(r.Code(address, codeHash))
}

// Has implements state.ContractCodeReader.
func (r *reader) Has(address common.Address, codeHash common.Hash) bool {
	return r.Code(address, codeHash) != nil
}

// noTries is the database of a state that is only read, and thrown away: nobody asks it for a trie.
type noTries struct{ state.Database }

// Type implements state.Database.
func (noTries) Type() state.DatabaseType { return state.TypeMPT }
