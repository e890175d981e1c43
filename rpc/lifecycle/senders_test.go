package lifecycle

import (
	"crypto/ecdsa"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

var mainnet = types.LatestSignerForChainID(big.NewInt(1))

func senderKey(i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(common.LeftPadBytes([]byte{1, byte(i)}, 32))
	if err != nil {
		panic(err)
	}
	return key
}

// transfers are transactions of as many senders. They are new each time: a transaction remembers
// its sender itself.
func transfers(n int) []*exec.Tx {
	txs := make([]*exec.Tx, n)
	for i := range txs {
		txs[i] = &exec.Tx{Transaction: types.MustSignNewTx(senderKey(i), mainnet, &types.DynamicFeeTx{
			ChainID: big.NewInt(1), Nonce: uint64(i), Gas: 21_000, GasFeeCap: big.NewInt(1e9), To: &common.Address{1},
		})}
	}
	return txs
}

// Senders are found on all cores when there are many transactions, and stay in order.
func TestManySenders(t *testing.T) {
	const n = 100
	senders, txs := NewSenders(mainnet, 1000), transfers(n)
	if _, err := senders.Find(txs); err != nil {
		t.Fatal(err)
	}
	for i, tx := range txs {
		if want := crypto.PubkeyToAddress(senderKey(i).PublicKey); tx.From != want {
			t.Errorf("transaction %d is of %s, want %s", i, tx.From, want)
		}
	}
}

// Of transactions that have no sender here the first one counts, whoever finds which first.
func TestFirstMistakeCounts(t *testing.T) {
	txs := transfers(40)
	for _, wrong := range []int{7, 30} {
		txs[wrong].Transaction = types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(2), Nonce: uint64(wrong),
			V: big.NewInt(0),
			R: big.NewInt(5), S: big.NewInt(1)})
	}
	if failed, err := NewSenders(mainnet, 10).Find(txs); err == nil || failed != 7 {
		t.Errorf("transaction %d: %v", failed, err)
	}
}

// Who was found is known from then on; a chain that knows no sender shows that nobody is recovered.
func TestSendersAreRemembered(t *testing.T) {
	senders := NewSenders(mainnet, 10)
	if _, err := senders.Find(transfers(3)); err != nil {
		t.Fatal(err)
	}
	senders.signer = types.LatestSignerForChainID(big.NewInt(2))
	txs := transfers(3)
	if _, err := senders.Find(txs); err != nil || txs[2].From != crypto.PubkeyToAddress(senderKey(2).PublicKey) {
		t.Errorf("%v: %s", err, txs[2].From)
	}
	if failed, err := senders.Find(transfers(4)); err == nil || failed != 3 {
		t.Errorf("a transaction of another chain has a sender: %v", err)
	}
}

// BenchmarkSenders compares finding the senders of transactions with recovering them one after
// another, in turn in one run.
func BenchmarkSenders(b *testing.B) {
	senders, chain := NewSenders(mainnet, 1), bundle.NewChain(mainnet)
	var ours, oneByOne time.Duration
	for b.Loop() {
		b.StopTimer()
		first, second := transfers(100), transfers(100)
		b.StartTimer()
		began := time.Now()
		_, err := senders.Find(first)
		ours += time.Since(began)
		began = time.Now()
		_, otherErr := chain.Find(second)
		oneByOne += time.Since(began)
		if err != nil || otherErr != nil {
			b.Fatal(err, otherErr)
		}
	}
	b.ReportMetric(float64(ours)/float64(oneByOne), "x-of-one-by-one")
}
