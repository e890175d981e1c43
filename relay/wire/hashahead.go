package wire

import (
	"cmp"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// defaultBatchBytes of transactions must have come before they are hashed by themselves: that is a
// tenth of a millisecond's work.
const defaultBatchBytes = 32 << 10

// hashedAhead are the roots of a payload's transactions, which are hashed in batches as they come.
// Each batch writes its own roots. Offsets that cannot be end it; the payload is then refused when
// it is read.
type hashedAhead struct {
	list       transactionList
	from       int  // where the list begins in the payload
	known      bool // list and from are
	over       bool // nothing more is hashed
	batchBytes int  // defaultBatchBytes if 0
	roots      [][32]byte
	batches    []*relay.Work[error]
}

// arrived is told what of the payload is here, and returns the next batch if there is one.
func (h *hashedAhead) arrived(raw []byte) *relay.Work[error] {
	if h.over || !h.locate(raw) {
		return nil
	}
	h.list.raw = raw[h.from:min(len(raw), h.from+h.list.bytes)]
	if count, here, err := h.list.count(); err != nil || !here {
		h.over = err != nil
		return nil
	} else if h.roots == nil {
		h.roots = make([][32]byte, count)
	}
	if len(h.list.raw) < h.list.bytes && len(h.list.raw)-h.list.readTo() < cmp.Or(h.batchBytes, defaultBatchBytes) {
		return nil
	}
	first := h.list.read
	transactions, err := h.list.next()
	if err != nil || len(transactions) == 0 {
		h.over = err != nil
		return nil
	}
	roots := h.roots[first:h.list.read]
	batch := relay.NewWork(func() error { return payload.TransactionRoots(roots, transactions) })
	h.batches = append(h.batches, batch)
	return batch
}

// locate finds the list, once the payload's fixed part is here.
func (h *hashedAhead) locate(raw []byte) bool {
	if h.known {
		return len(raw) >= h.from
	}
	if len(raw) < payloadHead {
		return false
	}
	from, to, err := transactionsOf(raw)
	if err != nil {
		h.over = true
		return false
	}
	h.known, h.from, h.list.bytes = true, from, to-from
	return len(raw) >= from
}
