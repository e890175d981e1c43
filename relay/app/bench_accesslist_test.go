package app

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/submit"
	"github.com/gavel-relay/gavel/relay/wire"
)

// BenchmarkOwnWorkInGloas compares our own work for a submission of gloas of 1 MB, of which 300 kB
// are its access list, with that for one of fulu as large (gloas/fulu), and with that for one
// which lacks the list and is otherwise the same (gloas/without). Medians of rounds in turn.
func BenchmarkOwnWorkInGloas(b *testing.B) {
	const list, kB = 300_000, 1000
	in := map[eth.Fork]*benchWay{}
	for _, fork := range []eth.Fork{eth.Fulu, eth.Gloas} {
		in[fork] = openBenchOf(b, fork, journal.Config{}, func(*submit.Config, *journal.Journal) {})
	}
	rows := []struct {
		fork  eth.Fork
		block *relay.Submission
	}{
		{eth.Fulu, benchBlock(b, in[eth.Fulu].spec, 0, 200, 5*kB, 0)},
		{eth.Fulu, benchBlock(b, in[eth.Fulu].spec, 0, 200, 5*kB-list/200, 0)},
		{eth.Gloas, inGloas(benchBlock(b, in[eth.Gloas].spec, 0, 200, 5*kB-list/200, 0), list)},
	}
	took := make([][]time.Duration, len(rows))
	wei := uint64(0)
	for b.Loop() {
		for i, row := range rows {
			wei++
			b.StopTimer()
			body := offer(b, in[row.fork], row.block, benchBuilders[0], wire.SSZ, wei)
			b.StartTimer()
			_, answered := in[row.fork].submit(b, 0, true, wire.SSZ, body)
			took[i] = append(took[i], answered)
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2])
	}
	b.ReportMetric(median(2)/1e6, "gloas-ms")
	b.ReportMetric(median(0)/1e6, "fulu-ms")
	b.ReportMetric(median(2)/median(0), "gloas/fulu")
	b.ReportMetric(median(2)/median(1), "gloas/without")
}

// inGloas is a block of gloas with an access list of so many bytes, all noise.
func inGloas(s *relay.Submission, list int) *relay.Submission {
	access := make([]byte, list)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(access) // never fails
	s.Fork, s.Gloas = eth.Gloas, &payload.Gloas{AccessList: access, Slot: benchSlot}
	return s
}
