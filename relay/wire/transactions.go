package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Bounds of the number of transactions. Each takes memory besides its own bytes: an entry in the
// list, and its root. So a list of tiny transactions would take several times the memory of its
// body. A signed transaction has at least 60 bytes, usually more than 100, so valid blocks are far
// below these bounds. A few tiny ones do no harm.
const (
	fewTransactions       = 1024
	leastTransactionBytes = 32
)

// mostTransactions is how many transactions a list of a number of bytes may have.
func mostTransactions(bytes int) int {
	return min(maxTransactions, fewTransactions+bytes/leastTransactionBytes)
}

// checkTransactionCount refuses too many transactions in an SSZ submission before electra, which
// the library reads as a whole. The first offset shows how many there are. The library finds all
// other errors.
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

// tooShort is the error of transactions that are too many for their length.
func tooShort(count int) error {
	return fmt.Errorf("%d are too many for their length: want %d bytes each, beyond the first %d", count,
		leastTransactionBytes, fewTransactions)
}
