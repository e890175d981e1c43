package payload

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	utilbellatrix "github.com/attestantio/go-eth2-client/util/bellatrix"
)

// library is how the libraries hash.
func library(t testing.TB, transactions []bellatrix.Transaction) [32]byte {
	t.Helper()
	root, err := (&utilbellatrix.ExecutionPayloadTransactions{Transactions: transactions}).HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func noise(draw *rand.Rand, count, most int) []bellatrix.Transaction {
	transactions := make([]bellatrix.Transaction, count)
	for i := range transactions {
		transactions[i] = make([]byte, draw.IntN(most+1))
		for j := range transactions[i] {
			transactions[i][j] = byte(draw.Uint32())
		}
	}
	return transactions
}

func TestTransactionsRootIsTheLibraries(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, count := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 200} {
		for _, most := range []int{0, 1, 31, 32, 33, 64, 65, 200, 5000} {
			transactions := noise(draw, count, most)
			got, err := TransactionsRoot(transactions)
			if want := library(t, transactions); err != nil || [32]byte(got) != want {
				t.Errorf("%d transactions of up to %d bytes: %#x, want %#x, %v", count, most, got[:], want[:], err)
			}
		}
	}
}

// library/ours is how much longer the libraries take for 200 transactions of up to 2 kB.
func BenchmarkTransactionsRoot(b *testing.B) {
	transactions := noise(rand.New(rand.NewPCG(1, 2)), 200, 2000)
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := TransactionsRoot(transactions); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		library(b, transactions)
		ours, theirs = ours+between.Sub(start), theirs+time.Since(between)
	}
	b.ReportMetric(float64(theirs)/float64(ours), "library/ours")
}
