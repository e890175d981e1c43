package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth"
)

// A transaction takes memory beside its own bytes: its place in the list, and its root. A signed
// one has 60 bytes at the very least, and usually more than 100; so a body of that many has no room
// for more than this, and a list of nothing but crumbs would take several times the memory that its
// body did. A few crumbs harm nobody.
const (
	fewTransactions       = 1024
	leastTransactionBytes = 32
)

// mostTransactions is how many transactions a list of so many bytes may have.
func mostTransactions(bytes int) int {
	return min(maxTransactions, fewTransactions+bytes/leastTransactionBytes)
}

// checkTransactionCount judges the number of transactions in a submission in SSZ of before electra,
// which the libraries read whole: by the first offset, which says how many there are. What else is
// wrong they find.
func checkTransactionCount(fork eth.Fork, body []byte) error {
	head := traceBytes + offsetsOf(fork)*offsetBytes + signatureBytes
	if len(body) < head+payloadHead {
		return nil
	}
	raw := body[head:]
	from, to := int(binary.LittleEndian.Uint32(raw[transactionsAt:])), len(raw)
	if fork.HasWithdrawals() {
		to = int(binary.LittleEndian.Uint32(raw[withdrawalsAt:]))
	}
	if to < from+offsetBytes || to > len(raw) {
		return nil
	}
	if count := int(binary.LittleEndian.Uint32(raw[from:])) / offsetBytes; count > mostTransactions(to-from) {
		return fmt.Errorf("execution_payload: transactions: %w", tooShort(count))
	}
	return nil
}

// tooShort refuses transactions that are too many for their length.
func tooShort(count int) error {
	return fmt.Errorf("%d are too many for their length: want %d bytes each, beyond the first %d", count,
		leastTransactionBytes, fewTransactions)
}
