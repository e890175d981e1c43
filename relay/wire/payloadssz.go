package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Places in an SSZ payload from deneb on (consensus-specs, ExecutionPayload): of the offsets of
// transactions and withdrawals, and the length of the fixed part.
const (
	transactionsAt = 504
	withdrawalsAt  = transactionsAt + offsetBytes
	payloadHead    = 528
)

// readPayload reads a payload without copying its transactions, which are nearly all of it. The
// library reads the rest.
//
//	fixed part │ extra data │ offsets of transactions │ transactions … │ withdrawals
//	└──────── the library ─┘ └──────────── ours ───────────────────────┘ └ the library
func readPayload(raw []byte) (p *payload.Payload, err error) {
	defer recoverMalformed(&err)
	from, to, err := transactionsOf(raw)
	if err != nil {
		return nil, fmt.Errorf("execution_payload: %w", err)
	}
	if to > len(raw) {
		return nil, fmt.Errorf("execution_payload: transactions end at %d of %d bytes", to, len(raw))
	}
	rest := append(append(make([]byte, 0, from+len(raw)-to), raw[:from]...), raw[to:]...)
	binary.LittleEndian.PutUint32(rest[withdrawalsAt:], uint32(from))
	p = new(payload.Payload)
	if err := readSSZ(p, rest); err != nil {
		return nil, fmt.Errorf("execution_payload: %w", err)
	}
	list := transactionList{raw: raw[from:to], bytes: to - from}
	if p.Transactions, err = list.next(); err == nil && !list.isEnded() {
		err = errOffsets
	}
	if err != nil {
		return nil, fmt.Errorf("execution_payload: transactions: %w", err)
	}
	return p, nil
}

// transactionsOf returns where the transactions begin and end in a payload. Only its fixed part has
// to be here.
func transactionsOf(raw []byte) (from, to int, err error) {
	if len(raw) < payloadHead {
		return 0, 0, fmt.Errorf("%d bytes are too few", len(raw))
	}
	from, to = int(binary.LittleEndian.Uint32(raw[transactionsAt:])), int(binary.LittleEndian.Uint32(raw[withdrawalsAt:]))
	if from < payloadHead || to < from {
		return 0, 0, fmt.Errorf("transactions from %d to %d", from, to)
	}
	return from, to, nil
}

// errOffsets means that a list's offsets are impossible.
var errOffsets = errors.New("an offset is wrong")

// transactionList reads an SSZ list of transactions, as far as it has arrived.
type transactionList struct {
	raw   []byte // what has arrived; it may grow
	bytes int    // length of the whole list
	read  int    // number of transactions that were returned
}

// count returns the number of transactions; here is false while the offsets have not arrived.
func (l *transactionList) count() (count int, here bool, err error) {
	if l.bytes == 0 {
		return 0, true, nil
	}
	if len(l.raw) < offsetBytes {
		if l.bytes < offsetBytes {
			return 0, true, errOffsets
		}
		return 0, false, nil
	}
	first := l.offset(0)
	if first == 0 || first%offsetBytes != 0 || first > l.bytes || first/offsetBytes > eth.MaxTransactions {
		return 0, true, errOffsets
	}
	if count := first / offsetBytes; count > eth.MostTransactions(l.bytes) {
		return 0, true, tooShort(count)
	}
	return first / offsetBytes, len(l.raw) >= first, nil
}

// isEnded says whether all transactions have been returned.
func (l *transactionList) isEnded() bool {
	count, here, err := l.count()
	return err == nil && here && l.read == count
}

// readTo returns where the first transaction begins that was not returned yet.
func (l *transactionList) readTo() int {
	if l.isEnded() {
		return l.bytes
	}
	return l.offset(l.read)
}

// next returns the transactions that have arrived since the last call. They are slices of raw.
func (l *transactionList) next() ([]bellatrix.Transaction, error) {
	count, here, err := l.count()
	if err != nil || !here {
		return nil, err
	}
	end := func(i int) int {
		if i+1 == count {
			return l.bytes
		}
		return l.offset(i + 1)
	}
	whole := l.read
	for whole < count && end(whole) <= len(l.raw) {
		whole++
	}
	list := make([]bellatrix.Transaction, 0, whole-l.read)
	for ; l.read < whole; l.read++ {
		from, to := l.offset(l.read), end(l.read)
		if to < from || to > l.bytes {
			return nil, errOffsets
		}
		list = append(list, l.raw[from:to:to])
	}
	return list, nil
}

func (l *transactionList) offset(i int) int {
	return int(binary.LittleEndian.Uint32(l.raw[i*offsetBytes:]))
}
