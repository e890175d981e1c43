package replay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// importedRows is how many bids the benchmarks of imports read: some batches of some hours.
const importedRows = 200_000

// archiveCSV writes an archive in relayscan's format: bids of 40 builders at 4 relays, 200 a slot.
func archiveCSV(b *testing.B) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "all.csv")
	file, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(file)
	random := rand.New(rand.NewPCG(1, 2))
	fmt.Fprintln(out, "source_type,received_at_ms,timestamp_ms,slot,slot_t_ms,value,block_hash,parent_hash,"+
		"builder_pubkey,block_number,block_fee_recipient,relay,proposer_pubkey,proposer_fee_recipient,optimistic_submission")
	const first, perSlot = 9_000_000, 200
	for i := range importedRows {
		slot := first + i/perSlot
		start := (1606824023 + int64(slot)*12) * 1000
		ms := int64(i%perSlot)*60 - 10_000
		builder := random.IntN(40)
		fmt.Fprintf(out, "1,%d,%d,%d,%d,%d,0x%016x%048x,0x%064x,0x%096x,%d,0x%040x,relay-%d,0x%096x,0x%040x,%t\n",
			start+ms+700, start+ms, slot, ms, random.Int64N(1e18), random.Uint64(), i, slot, builder, slot-1000, builder,
			random.IntN(4), slot, slot, i%2 == 0)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	return name
}

func benchmarkImport(b *testing.B, archive string) {
	b.Helper()
	mainnet, err := dataset.NetworkNamed("mainnet")
	if err != nil {
		b.Fatal(err)
	}
	spent := processorSeconds(b)
	for b.Loop() {
		results, err := Import(context.Background(), []string{archive}, Options{Into: filepath.Join(b.TempDir(), "set"),
			Network: mainnet, BatchRows: DefaultBatchRows, Progress: io.Discard})
		if err != nil || results[0].Added != importedRows {
			b.Fatal(results, err)
		}
	}
	b.ReportMetric(importedRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(importedRows*float64(b.N)/(processorSeconds(b)-spent), "rows/cpu-s")
}

// processorSeconds is the time that this process has had of all processors: what a benchmark shows
// of a machine that others use, too.
func processorSeconds(b *testing.B) float64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

func BenchmarkImportCSV(b *testing.B) { benchmarkImport(b, archiveCSV(b)) }

// BenchmarkImportParquet imports xatu's table of the same bids.
func BenchmarkImportParquet(b *testing.B) {
	set, out := filepath.Join(b.TempDir(), "set"), b.TempDir()
	mainnet, err := dataset.NetworkNamed("mainnet")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := Import(context.Background(), []string{archiveCSV(b)}, Options{Into: set, Network: mainnet,
		BatchRows: DefaultBatchRows, Progress: io.Discard}); err != nil {
		b.Fatal(err)
	}
	format, err := dataset.ExportNamed("xatu")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := Export(context.Background(), ExportOptions{Dir: set, Out: out, Format: format}); err != nil {
		b.Fatal(err)
	}
	benchmarkImport(b, filepath.Join(out, "mev_relay_bid_trace.parquet"))
}
