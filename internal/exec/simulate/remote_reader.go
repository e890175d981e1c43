package simulate

import (
	"context"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	corestate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
)

// reader reads the state after one block for one simulation: from memory, or from a node. It
// implements go-ethereum's state.Reader, whose methods have no context; so it keeps the
// simulation's.
type reader struct {
	ctx    context.Context // a reader lives as long as the simulation
	states *RemoteStates
	block  *types.Header
	memory *memory

	mu sync.Mutex // guards all below
	// codes are those of the accounts that were read. A code is fetched together with its account,
	// because Code can't return an error. It stays here, because the cache may drop it meanwhile.
	codes map[common.Hash][]byte
	// failed is an error that could not be returned when it came up; every later read returns it.
	failed error
}

var _ corestate.Reader = (*reader)(nil)

// Account implements state.Reader.
func (r *reader) Account(address common.Address) (*types.StateAccount, error) {
	if err := r.failure(); err != nil {
		return nil, err
	}
	known, err := r.states.account(r.ctx, r.block, r.memory, address)
	if err != nil || known.state == nil {
		return nil, err
	}
	if hash := common.BytesToHash(known.state.CodeHash); hash != types.EmptyCodeHash && !r.Has(address, hash) {
		code, err := r.states.code(r.ctx, r.block, address, hash)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.codes[hash] = code
		r.mu.Unlock()
	}
	return known.state.Copy(), nil
}

// Storage implements state.Reader.
func (r *reader) Storage(address common.Address, slot common.Hash) (common.Hash, error) {
	if err := r.failure(); err != nil {
		return common.Hash{}, err
	}
	return r.states.storage(r.ctx, r.block, r.memory, slotKey{address, slot})
}

// Code implements state.Reader. It has the codes of accounts that were read before.
func (r *reader) Code(_ common.Address, hash common.Hash) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.codes[hash]
}

// CodeSize implements state.Reader.
func (r *reader) CodeSize(address common.Address, hash common.Hash) int {
	return len(r.Code(address, hash))
}

// Has implements state.Reader.
func (r *reader) Has(address common.Address, hash common.Hash) bool {
	return r.CodeSize(address, hash) != 0
}

func (r *reader) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// fail makes every later read fail.
func (r *reader) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}
