package simulate

import (
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Touched are the accounts and slots that transactions surely read: senders, receivers, coinbase
// and access lists.
func Touched(txs []exec.Tx, coinbase common.Address) types.AccessList {
	list := types.AccessList{{Address: coinbase}}
	for _, tx := range txs {
		list = append(list, types.AccessTuple{Address: tx.From})
		if to := tx.To(); to != nil {
			list = append(list, types.AccessTuple{Address: *to})
		}
		list = append(list, tx.AccessList()...)
	}
	return list
}

// Warm fetches the accounts and slots of a list, and the accounts' codes, from the state after a
// block, unless they are cached. It takes one request for accounts and slots, and another one for
// codes that did not come with the accounts, or more if a list exceeds maxBatch. Later simulations
// read all of it from memory. Without Warm they fetch each value when they read it.
func (s *RemoteStates) Warm(ctx context.Context, block *types.Header, list types.AccessList) error {
	m := s.memories.of(block.Hash())
	w := missing(m, list)
	for !w.empty() {
		part := w.split()
		got, err := s.fetch(ctx, block, part)
		if err != nil {
			return err
		}
		s.keepCodes(got.extra)
		for i, key := range part.slots {
			m.slots.Add(key, got.slots[i])
		}
		for i, address := range part.accounts {
			m.accounts.Add(address, got.accounts[i])
		}
	}
	return s.warmCodes(ctx, block, m, list)
}

// missing is the part of a list that a memory does not hold, each entry once.
func missing(m *memory, list types.AccessList) (w wanted) {
	accounts, slots := map[common.Address]bool{}, map[slotKey]bool{}
	for _, item := range list {
		if !accounts[item.Address] && !m.accounts.Contains(item.Address) {
			w.accounts = append(w.accounts, item.Address)
		}
		accounts[item.Address] = true
		for _, slot := range item.StorageKeys {
			key := slotKey{item.Address, slot}
			if !slots[key] && !m.slots.Contains(key) {
				w.slots = append(w.slots, key)
			}
			slots[key] = true
		}
	}
	return w
}

// warmCodes fetches the codes of the list's accounts that are in memory, each code once.
func (s *RemoteStates) warmCodes(ctx context.Context, block *types.Header, m *memory, list types.AccessList) error {
	var w wanted
	hashes := map[common.Hash]bool{types.EmptyCodeHash: true}
	for _, item := range list {
		known, ok := m.accounts.Get(item.Address)
		if !ok || known.state == nil {
			continue
		}
		hash := common.BytesToHash(known.state.CodeHash)
		if _, cached := s.codes.Get(hash); !hashes[hash] && !cached {
			w.codes = append(w.codes, item.Address)
		}
		hashes[hash] = true
	}
	for !w.empty() {
		got, err := s.fetch(ctx, block, w.split())
		if err != nil {
			return err
		}
		for _, code := range got.codes {
			s.codes.Add(crypto.Keccak256Hash(code), code) // by its own hash, so a wrong code is never used
		}
	}
	return nil
}

// Warmed is a simulator that fetches what its transactions touch before it runs them.
type Warmed struct {
	exec.Simulator
	States *RemoteStates
}

// Call implements exec.Simulator.
func (w Warmed) Call(ctx context.Context, txs []exec.Tx, env exec.Environment) (*exec.CallResult, error) {
	return w.Simulator.Call(ctx, txs, w.warm(ctx, txs, env))
}

// Simulate implements exec.Simulator.
func (w Warmed) Simulate(ctx context.Context, bundle *exec.Bundle, env exec.Environment) (*exec.BundleResult, error) {
	return w.Simulator.Simulate(ctx, bundle, w.warm(ctx, flat(bundle, nil), env))
}

// warm fetches, and pins the environment to the block that it fetched from. It ignores errors: what
// fails here fails again in the simulation, which reports it.
func (w Warmed) warm(ctx context.Context, txs []exec.Tx, env exec.Environment) exec.Environment {
	parent, err := w.States.parent(ctx, env)
	if err != nil {
		return env
	}
	env.ParentHash, env.ParentNumber, env.Latest = parent.Hash(), 0, false
	coinbase := parent.Coinbase
	if env.Coinbase != nil {
		coinbase = *env.Coinbase
	}
	if err := w.States.Warm(ctx, parent, Touched(txs, coinbase)); err != nil {
		w.States.options.Log.Debug("state is not fetched ahead", "block", parent.Number, "error", err)
	}
	return env
}

// flat lists a bundle's transactions, depth first.
func flat(bundle *exec.Bundle, txs []exec.Tx) []exec.Tx {
	if bundle == nil {
		return txs
	}
	for _, element := range bundle.Elements {
		if element.Tx != nil {
			txs = append(txs, *element.Tx)
		}
		txs = flat(element.Bundle, txs)
	}
	return txs
}
