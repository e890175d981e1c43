package eth

// MaxTransactions is how many transactions a payload has at most (consensus-specs,
// MAX_TRANSACTIONS_PER_PAYLOAD).
const MaxTransactions = 1 << 20

// Bounds of the number of transactions. Each takes memory besides its own bytes: an entry in the
// list, and its root. So a list of tiny transactions would take several times the memory of its
// body. A signed transaction has at least 60 bytes, usually more than 100, so valid blocks are far
// below these bounds. A few tiny ones do no harm.
const (
	FewTransactions       = 1024
	LeastTransactionBytes = 32
)

// MostTransactions is how many transactions are read from a list of a number of bytes.
func MostTransactions(bytes int) int {
	return min(MaxTransactions, FewTransactions+bytes/LeastTransactionBytes)
}
