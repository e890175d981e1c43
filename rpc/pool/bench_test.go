package pool

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

const benchOrders = 100_000

// numbered makes bytes that differ.
func numbered(n, kind int) (b [32]byte) {
	binary.BigEndian.PutUint64(b[:], uint64(n)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(b[8:], uint64(kind))
	return b
}

// benchOrder is one of a pool as it may be: three of ten orders are private transactions, which
// wait for 25 blocks; the others are bundles of two transactions for one of the next four blocks,
// half of them with a replacementUuid. everywhere makes them all wait for the next block.
func benchOrder(n int, everywhere bool) *rpc.Order {
	order := &rpc.Order{Kind: rpc.KindBundle,
		Signer: common.Address(common.BigToAddress(uint256.NewInt(uint64(n % 1000)).ToBig()))}
	txs, first, last := 2, uint64(101+n%4), uint64(101+n%4)
	if n%10 < 3 {
		order.Kind, txs, first, last = rpc.KindPrivate, 1, 101, 125
	} else if n%2 == 0 {
		name := numbered(n, 9)
		order.Replacement = uuid.UUID(name[:16])
	}
	if everywhere {
		first, last = 101, 101
	}
	order.Bundle = rpc.Bundle{Hash: numbered(n, 0), Window: rpc.Window{FirstBlock: first, LastBlock: last}}
	for i := range txs {
		order.Bundle.Elements = append(order.Bundle.Elements, rpc.Element{Tx: &rpc.Transaction{Hash: numbered(n, i+1)}})
	}
	return order
}

func fill(b *testing.B, everywhere bool) *Pool {
	b.Helper()
	p := New(Config{Class: func(signer common.Address) int { return int(signer[19]) % 2 }})
	at := time.Unix(1200, 0)
	p.Block(at, rpc.Head{Number: 100}, nil)
	for n := range benchOrders {
		outcome, err := p.Add(at, rpc.Head{Number: 100}, benchOrder(n, everywhere))
		if err != nil {
			b.Fatal(err)
		}
		profit := numbered(n, 5)
		p.Simulated(at, outcome.Order.ID, rpc.Simulation{
			Block: 101, Success: true, ProfitWei: new(uint256.Int).SetBytes(profit[:8]),
			RefundableWei: uint256.NewInt(uint64(n)),
		})
		for _, builder := range []string{"flashbots", "titan"} {
			p.Sent(at, outcome.Order.ID, rpc.Delivery{Builder: builder, Block: 101})
		}
	}
	return p
}

// BenchmarkReady100000 is the selection for the next block out of 100,000 orders alive: as a day
// has them, and the worst, when all want it.
func BenchmarkReady100000(b *testing.B) {
	for _, scene := range []struct {
		name       string
		everywhere bool
	}{{"mixed", false}, {"all for one block", true}} {
		b.Run(scene.name, func(b *testing.B) {
			p := fill(b, scene.everywhere)
			ready := 0
			for b.Loop() {
				ready = len(p.Ready(101, 1212))
			}
			b.ReportMetric(float64(ready), "ready")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
		})
	}
}

// BenchmarkMemory is what an order alive costs, with its two transactions, a simulation and two
// deliveries, beyond its raw transactions.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		before := heap()
		p := fill(b, false)
		after := heap()
		b.ReportMetric(float64(after-before)/benchOrders, "bytes/order")
		runtime.KeepAlive(p)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkAdd is an order's way into a pool that has 100,000 already, and out again.
func BenchmarkAdd(b *testing.B) {
	p := fill(b, false)
	at, n := time.Unix(1201, 0), benchOrders
	for b.Loop() {
		order := benchOrder(n, false)
		order.Replacement = uuid.UUID{1} // replaces the one before
		order.Kind = rpc.KindBundle
		if _, err := p.Add(at, rpc.Head{Number: 100}, order); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
