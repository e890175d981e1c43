package app

import (
	"testing"
	"time"

	"github.com/gavel-relay/gavel/relay/wire"
)

// BenchmarkReceiveToVisible is the time from the last byte of a trusted builder's 1.2 MB submission
// in SSZ until getHeader sees the bid: with an API key, so that the signature is verified later,
// and without, so that it is verified first. The body comes over loopback from a client that sends
// as fast as it can, and uses the same processors; or at 10 Gbit/s, as from another machine.
// Visible means escrowed all the same, and with an escrow in files those that lead are synced
// meanwhile, as in a relay (leaders-synced, sync); whole, that the relay's own signature is there
// too, for which a header that is asked for at once waits. What is done while the body comes may
// delay its last byte: sent is the time from when the client begins to send until the header is
// whole, which no such trick can shorten.
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
		b.Run(row.name, func(b *testing.B) { receiveToVisible(b, row.files, row.identified, false) })
		b.Run(row.name+" 10 Gbit", func(b *testing.B) { receiveToVisible(b, row.files, row.identified, true) })
	}
}

func receiveToVisible(b *testing.B, files, identified, network bool) {
	dir := ""
	if files {
		dir = b.TempDir()
	}
	h := openBench(b, dir)
	client := overLoopback(b, h)
	block := benchBlock(b, h.spec, 0, 200, 1000, 7)
	var visible, whole, sent []time.Duration
	wei := uint64(0)
	for b.Loop() {
		b.StopTimer()
		wei++
		body := offer(b, h, block, benchBuilders[0], wire.SSZ, wei)
		b.StartTimer()
		var took time.Duration
		began := time.Now()
		if network {
			took, _ = h.receive(b, 0, identified, wire.SSZ, overNetwork(body))
		} else {
			took = client.send(b, h, 0, identified, body)
		}
		signed := <-h.board.whole
		visible = append(visible, took)
		whole = append(whole, took+signed.Sub(h.board.shown))
		sent = append(sent, signed.Sub(began))
	}
	b.ReportMetric(float64(percentile(visible, 0.5).Microseconds()), "p50-µs")
	b.ReportMetric(float64(percentile(visible, 0.99).Microseconds()), "p99-µs")
	b.ReportMetric(float64(percentile(whole, 0.5).Microseconds()), "whole-p50-µs")
	b.ReportMetric(float64(percentile(sent, 0.5).Microseconds()), "sent-p50-µs")
	if files {
		h.leaders.report(b)
	}
}
