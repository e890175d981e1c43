package bundle

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/param"
)

// signed is a transaction on its way in: first text, then decoded, then with its sender.
type signed struct {
	hex                param.HexBytes
	path               func() string // where it stands in the request; only a refusal asks
	raw                []byte
	tx                 *types.Transaction
	from               common.Address
	canRevert, canDrop bool
}

// fits refuses more bytes of raw transactions than there may be, before any of them is decoded.
func fits(txs []*signed, limits Config) error {
	total := 0
	for _, s := range txs {
		total += s.hex.Len()
	}
	if total > limits.MaxBytes {
		return rpc.BundleTooLarge.With("%d bytes of raw transactions, want at most %d", total, limits.MaxBytes)
	}
	return nil
}

// decode reads transactions as a node takes them: blob transactions with their blobs.
func decode(txs []*signed) error {
	for _, s := range txs {
		raw, err := s.hex.Bytes()
		if err != nil {
			return rpc.BundleUndecodable.With("%s: %s", s.path(), err)
		}
		s.raw, s.tx = raw, new(types.Transaction)
		if err := s.tx.UnmarshalBinary(raw); err != nil {
			return rpc.BundleUndecodable.With("%s: %s", s.path(), err)
		}
	}
	return nil
}

// parallelFrom is the number of transactions from which on it is worth to wake other cores.
const parallelFrom = 9

// findSenders finds the senders: those that are known, and then the others by their signatures.
func findSenders(txs []*signed, in Intake) error {
	if in.Senders == nil {
		return recoverSenders(txs, in.Chain)
	}
	var strangers []*signed
	for _, s := range txs {
		var known bool
		if s.from, known = in.Senders.Sender(s.tx.Hash()); !known {
			strangers = append(strangers, s)
		}
	}
	return recoverSenders(strangers, in.Chain)
}

// recoverSenders is the dearest step by far: 50 µs for each.
func recoverSenders(txs []*signed, chain types.Signer) error {
	workers := 1
	if len(txs) >= parallelFrom {
		workers = min(runtime.GOMAXPROCS(0), len(txs))
	}
	errs := make([]error, len(txs))
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(txs)); i = next.Add(1) - 1 {
			txs[i].from, errs[i] = types.Sender(chain, txs[i].tx)
		}
	}
	var group sync.WaitGroup
	for range workers - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return rpc.BundleUndecodable.With("%s: %s", txs[i].path(), err)
		}
	}
	return nil
}

func (s *signed) order() *rpc.Transaction {
	return &rpc.Transaction{Raw: s.raw, Hash: s.tx.Hash(), From: s.from, Nonce: s.tx.Nonce(), CanRevert: s.canRevert, CanDrop: s.canDrop}
}

func (s *signed) exec() exec.Tx {
	return exec.Tx{Transaction: s.tx.WithoutBlobTxSidecar(), From: s.from, CanRevert: s.canRevert, CanDrop: s.canDrop}
}

// hashes are the transactions' in order.
func hashes(txs []*signed) []common.Hash {
	list := make([]common.Hash, len(txs))
	for i, s := range txs {
		list[i] = s.tx.Hash()
	}
	return list
}

// readTxs reads the field txs as far as decoding: its number and size are judged first.
func readTxs(path string, list param.LaterList, limits Config) ([]*signed, error) {
	if list.Count() > limits.MaxTxs {
		return nil, rpc.BundleTooManyTxs.With("%s has %d, want at most %d", path, list.Count(), limits.MaxTxs)
	}
	texts, err := param.Elements[param.HexBytes](path, list)
	if err != nil {
		return nil, err
	}
	txs := make([]*signed, len(texts))
	for i := range texts {
		txs[i] = &signed{hex: texts[i], path: func() string { return fmt.Sprintf("%s[%d]", path, i) }}
	}
	return txs, fits(txs, limits)
}
