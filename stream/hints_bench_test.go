package stream_test

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/stream"
)

// What an event costs before anybody hears of it: a swap as most senders share it, and one shown
// whole, with 1 KiB of calldata and ten logs.
func BenchmarkProject(b *testing.B) {
	swap := kinds()[3]
	long := *swap.tx.(*types.DynamicFeeTx)
	long.Data = common.FromHex("0x" + strings.Repeat("5a", 1024))
	cfg := stream.DefaultHints()
	for _, c := range []struct {
		name  string
		order *orderflow.Shared
	}{
		{"stable", order(orderflow.Hash|orderflow.DefaultLogs, element(b, swap.tx, logs()...))},
		{"full", order(orderflow.Full|orderflow.Logs, element(b, &long, append(logs(), logs()...)...))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if line, err := stream.ProjectHints(c.order, cfg); err != nil || len(line) == 0 {
					b.Fatal(line, err)
				}
			}
		})
	}
}
