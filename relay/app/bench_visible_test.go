package app

import (
	"testing"
	"time"

	"github.com/gavel-relay/gavel/relay/wire"
)

// BenchmarkReceiveToVisible is the time from the last byte of a trusted builder's 1.2 MB submission in SSZ until getHeader sees the bid: with an
// API key, so that the signature is verified later, and without, so that it is verified first. The body comes as fast as a network of 10 Gbit/s
// carries it, so that what can be done while it comes is. Visible means escrowed all the same; whole, that the relay's own signature is there too, for
// which a header that is asked for at once waits.
func BenchmarkReceiveToVisible(b *testing.B) {
	for _, row := range []struct {
		name       string
		files      bool
		identified bool
	}{
		{"memory", false, true},
		{"file", true, true},
		{"memory signature first", false, false},
		{"file signature first", true, false},
	} {
		b.Run(row.name, func(b *testing.B) {
			dir := ""
			if row.files {
				dir = b.TempDir()
			}
			h := openBench(b, dir)
			block := benchBlock(b, h.spec, 0, 200, 1000, 7)
			var visible, whole []time.Duration
			wei := uint64(0)
			for b.Loop() {
				b.StopTimer()
				wei++
				body := offer(b, h, block, benchBuilders[0], wire.SSZ, wei)
				b.StartTimer()
				took, _ := h.receive(b, 0, row.identified, wire.SSZ, overNetwork(body))
				visible = append(visible, took)
				whole = append(whole, took+(<-h.board.whole).Sub(h.board.shown))
			}
			b.ReportMetric(float64(percentile(visible, 0.5).Microseconds()), "p50-µs")
			b.ReportMetric(float64(percentile(visible, 0.99).Microseconds()), "p99-µs")
			b.ReportMetric(float64(percentile(whole, 0.5).Microseconds()), "whole-p50-µs")
		})
	}
}
