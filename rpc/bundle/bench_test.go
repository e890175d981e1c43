package bundle

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// BenchmarkReadBundle compares reading a bundle, for the pool and for a simulation, with recovering
// its senders alone, one after another, in turn in one run. That is the limit of a simulation on
// one core: where all senders are known x-of-recovery must be less than 1. For the pool nobody
// needs them yet. What several cores bring, BenchmarkSenders shows (rpc/lifecycle).
func BenchmarkReadBundle(b *testing.B) {
	for _, c := range []struct {
		n           int
		known, pool bool
	}{{1, false, false}, {3, false, false}, {100, false, false}, {3, true, false}, {1, false, true}, {3, false, true},
		{100, false, true}} {
		b.Run(fmt.Sprintf("txs=%d/known=%t/pool=%t", c.n, c.known, c.pool), func(b *testing.B) {
			n := c.n
			senders := known{}
			var txs []string
			var raws []hexutil.Bytes
			for i := range n {
				tx := transfer(i, uint64(i), 200)
				raws = append(raws, rawOf(b, tx))
				senders[tx.Hash()] = addressOf(i)
				txs = append(txs, `"`+raws[i].String()+`"`)
			}
			params := fill(`[{"txs":[` + join(txs) + `],"blockNumber":"0x65","revertingTxHashes":["#A"]}]`)
			read := func(params json.RawMessage, in Intake) error { _, err := ReadCallBundle(params, in); return err }
			if c.pool {
				read = func(params json.RawMessage, in Intake) error { _, _, err := ReadSendBundle(params, in); return err }
			}
			in := intake()
			if c.known {
				in.Senders = senders
			}
			decoded := make([]*types.Transaction, n)
			var ours, recovery time.Duration
			for b.Loop() {
				for i, raw := range raws { // anew, since a transaction remembers its sender
					decoded[i] = new(types.Transaction)
					if err := decoded[i].UnmarshalBinary(raw); err != nil {
						b.Fatal(err)
					}
				}
				start := time.Now()
				for _, tx := range decoded {
					if _, err := types.Sender(mainnet, tx); err != nil {
						b.Fatal(err)
					}
				}
				recovery += time.Since(start)
				start = time.Now()
				if err := read(params, in); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
			}
			b.ReportMetric(float64(ours)/float64(recovery), "x-of-recovery")
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/1e3, "µs/bundle")
		})
	}
}

// BenchmarkRefuse compares what a refusal costs, as a part of what taking the same bundle would:
// too many transactions, and a block that is over.
func BenchmarkRefuse(b *testing.B) {
	var txs []string
	for i := range 100 {
		txs = append(txs, `"`+rawOf(b, transfer(i, uint64(i), 200)).String()+`"`)
	}
	good := fill(`[{"txs":[` + join(txs) + `]}]`)
	for name, bad := range map[string][]byte{
		"too-many":  fill(`[{"txs":[` + join(append(txs, txs[0])) + `]}]`),
		"old-block": fill(`[{"txs":[` + join(txs) + `],"blockNumber":1}]`),
	} {
		b.Run(name, func(b *testing.B) {
			var taken, refused time.Duration
			for b.Loop() {
				start := time.Now()
				if _, _, err := ReadSendBundle(good, intake()); err != nil {
					b.Fatal(err)
				}
				taken += time.Since(start)
				start = time.Now()
				if _, _, err := ReadSendBundle(bad, intake()); err == nil {
					b.Fatal("taken")
				}
				refused += time.Since(start)
			}
			b.ReportMetric(float64(refused)/float64(taken), "x-of-taken")
		})
	}
}
