package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth"
)

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
	if count := int(binary.LittleEndian.Uint32(raw[from:])) / offsetBytes; count > eth.MostTransactions(to-from) {
		return fmt.Errorf("execution_payload: transactions: %w", tooShort(count))
	}
	return nil
}

// tooShort is the error of transactions that are too many for their length.
func tooShort(count int) error {
	return fmt.Errorf("%d are too many for their length: want %d bytes each, beyond the first %d", count,
		eth.LeastTransactionBytes, eth.FewTransactions)
}
