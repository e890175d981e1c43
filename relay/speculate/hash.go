package speculate

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay/wire"
)

// hashing is the hashing of a payload's transactions, in parts as they arrive. No two parts write
// the same roots. The goroutine that reads the body owns it.
type hashing struct {
	roots  [][32]byte
	parts  []*work[error]
	hashed int // transactions in parts
}

// add returns the hashing of a batch, which the caller may run on a goroutine; nil for an empty
// batch. If the caller does not run it, transactionsRoot.do does.
func (h *hashing) add(batch wire.Batch) *work[error] {
	if len(batch.Transactions) == 0 {
		return nil
	}
	if h.roots == nil {
		h.roots = make([][32]byte, batch.Count)
	}
	roots := h.roots[batch.First:][:len(batch.Transactions)]
	part := newWork(func() error { return payload.TransactionRoots(roots, batch.Transactions) })
	h.parts = append(h.parts, part)
	h.hashed += len(roots)
	return part
}

// transactionsRoot is the root of a payload's transactions, begun or not.
type transactionsRoot struct {
	parts []*work[error]
	whole *work[hashed]
}

// hashed is the root of a payload's transactions, with that payload.
type hashed struct {
	payload *payload.Payload
	root    phase0.Root
	err     error
}

// finish is called when the whole payload is here. It returns the root of all of its transactions,
// not begun yet.
func (h *hashing) finish(block *wire.Block) *transactionsRoot {
	h.add(block.Rest)
	parts, roots, count := h.parts, h.roots, h.hashed
	return &transactionsRoot{parts, newWork(func() (of hashed) {
		if of.payload, of.err = block.Payload(); of.err != nil {
			return of
		}
		if count != len(of.payload.Transactions) { // nothing was hashed in parts
			of.root, of.err = payload.TransactionsRoot(of.payload.Transactions)
			return of
		}
		for _, part := range parts {
			if of.err = part.do(); of.err != nil {
				return of
			}
		}
		of.root, of.err = payload.RootOfTransactions(roots)
		return of
	})}
}

// do hashes the parts that no goroutine has begun, waits for the others, and returns the root.
func (t *transactionsRoot) do() hashed {
	for _, part := range t.parts {
		if !part.isBegun() {
			_ = part.do() // t.whole returns its error too
		}
	}
	return t.whole.do()
}
