#!/usr/bin/env bash
# Runs benchmarks (all, or those that match the first argument, of all packages or those of the other arguments) and at the end sets the figures that relay, stream and bundle RPC promise beside what
# was measured.
# docs/speed.md says how to read them.
set -euo pipefail
cd "$(dirname "$0")/.."
which=${1:-.}
shift || true

raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
go test -timeout 30m -run '^$' -bench "$which" -benchmem "${@:-./...}" | grep -v -e '^ok ' -e 'no test files' -e '^PASS$' | tee "$raw"

# A line: benchmark, metric, the greatest value that keeps the promise (or, after >, the least), what it is.
awk -v cores="$(nproc)" '
	function strip(name) { sub(/-[0-9]+$/, "", name); return name }
	FNR == NR {
		if ($1 ~ /^Benchmark/) {
			name = strip($1)
			for (i = 3; i < NF; i += 2) figure[name, $(i + 1)] = $i
		}
		next
	}
	FNR == 1 {
		printf "\nWhat is promised, on %d cores\n", cores
		printf "  %-62s %12s %12s   %s\n", "", "goal", "measured", ""
	}
	{
		split($0, row, " *[|] *")
		if (!((row[1], row[2]) in figure)) next
		got = figure[row[1], row[2]]
		least = sub(/^>/, "", row[3])
		met = least ? got + 0 >= row[3] + 0 : got + 0 <= row[3] + 0
		unit = row[2]; sub(/^.*-/, "", unit); if (unit !~ /^(µs|ms|MiB)$/) unit = ""
		printf "  %-62s %9s %-4s %7s %-4s %s\n", row[4], (least ? "≥ " : "≤ ") row[3], unit, got, unit, met ? "met" : "MISSED"
	}
' "$raw" - <<'GOALS'
BenchmarkBook/final/100000|bids/s|>1000000|bids of a slot of 100,000 by 100 builders into the book, final ones
BenchmarkBook/cancellable/100000|bids/s|>1000000|the same with cancellations
BenchmarkReplay/1000|bids/s|>1000000|bids of archives once they are read: inferred, played and explained, slots of 1,000
BenchmarkReplay/100000|bids/s|>1000000|the same, slots of 100,000 bids by 100 builders
BenchmarkImportCSV|rows/s|>250000|rows of relayscan's archive imported
BenchmarkImportParquet|rows/s|>1000000|rows of xatu's table imported
BenchmarkHeaderOverLoopback/journal|of-bare|>0.8|getHeader over loopback, times the requests/s of a bare handler
BenchmarkHeader/ssz|allocs/op|0|getHeader, allocations in our own read path
BenchmarkRegistrations/unchanged|entries/s|>600000|unchanged registrations over loopback, JSON, 500 a request
BenchmarkRegistrations/renewed|entries/s|>600000|the same with a newer timestamp and signature, answered
BenchmarkRegistrations500/cores=half/bad=0|x-quicker|>1.7|500 new registrations, times as fast as one after another
BenchmarkWebsite|of-a-core|5|1,000 viewers of the live auction, percent of a core
BenchmarkWebsite|submissions|>0.85|submissions/s with 1,000 viewers on this machine, times those without
BenchmarkFirstPaint/first|p50-ms|200|first page of the website in a browser on this machine, first paint
BenchmarkFirstPaint/slot|p50-ms|200|page of a slot with 300 bids, first paint
BenchmarkReceived500/again|requests/s|>1500|received bids of a slot with 500 rows, over loopback
BenchmarkReceived500/after_a_new_row|requests/s|>1500|the same with a new row before each request
BenchmarkOwnWork/memory|ssz-ms|6|our own work for 1.5 MB in SSZ, escrow in memory
BenchmarkOwnWork/file|ssz-ms|6|our own work for 1.5 MB in SSZ, escrow in files
BenchmarkOwnWorkWithNode|cpu-ms|6|processor time for 1.5 MB in SSZ, with signature and a validation node
BenchmarkPackedBody/noise_ssz|gzip/plain|1.3|the same in gzip, times the processor time of the plain body
BenchmarkPackedBody/deployed_ssz|gzip/plain|1.3|the same in gzip, transactions and blobs as deployed
BenchmarkOwnWork/memory|json/ssz|3|the same block in JSON, times as long
BenchmarkReceiveToVisible/memory|p50-µs|1000|trusted bid of 1.2 MB visible, escrow in memory, median
BenchmarkReceiveToVisible/memory|p99-µs|5000|the same, 99 of 100
BenchmarkReceiveToVisible/file|p50-µs|2000|trusted bid of 1.2 MB visible, escrow in files, median
BenchmarkReceiveToVisible/file|whole-p50-µs|2000|its header signed, escrow in files, median
BenchmarkReceiveToVisible/memory_signature_first|p50-µs|2500|its signature verified first, escrow in memory, median
BenchmarkReceiveToVisible/file_signature_first|p50-µs|3500|its signature verified first, escrow in files, median
BenchmarkReceiveToVisible/memory_10_Gbit|p50-µs|1000|trusted bid at 10 Gbit/s visible, escrow in memory, median
BenchmarkReceiveToVisible/memory_10_Gbit|whole-p50-µs|1000|its header signed as well, so that a getHeader can be written, median
BenchmarkInstances|above-p50-µs|2000|trusted bid visible at two instances of a cluster, above one instance there, medians
BenchmarkInstances|p99-µs|20000|trusted bid visible at two instances of a cluster, 99 of 100
BenchmarkPayloadToPublish/memory|p99-ms|10|signed block to publication, escrow in memory, 99 of 100
BenchmarkPayloadToPublish/file|p99-ms|10|signed block to publication, escrow in files, 99 of 100
BenchmarkBidsInGloas|p99-ms|5|bid of gloas over loopback at 200 requests/s, 99 of 100
BenchmarkBidsInGloas|first-ms|15|the first one of a block, verified and signed
BenchmarkBidsInGloas|late|0|of 10,000, after half a second
BenchmarkOwnWorkInGloas|gloas/fulu|1.15|our own work for 1 MB of gloas with a list of 300 kB, times that for as much of fulu
BenchmarkEnvelope|p99-ms|150|taken block of gloas to its envelope with 6 blobs at the beacon node, 99 of 100
BenchmarkEquivocations|wrong|0|envelopes of gloas that proposers of two blocks must not have, of 1,000 such
BenchmarkRandomBlocksOfGloas|valid|>1000|random blocks of gloas that are VALID by engine_newPayloadV5, and replayed by a stock node
BenchmarkHonestSlotsOfGloas/64|full|>63|honest slots of gloas with their payload, of 64
BenchmarkHonestSlotsOfGloas/64|lost|0|payloads of these that the relay has sold and lost
BenchmarkHonestSlotsOfGloas/boundary|missed|0|slots over the boundary without a builder's block
BenchmarkRestart|ready-ms|2000|restart to ready with 100,000 registrations
BenchmarkMemory|peak-MiB|1024|peak memory of a slot with 1,000 blocks
BenchmarkSendBundle/journal|of-bare|>0.7|eth_sendBundle over loopback, times the rate of verifying alone
BenchmarkCallBundle|of-bare|>0.9|eth_callBundle of three swaps, times the speed of the machine
BenchmarkReady100000/mixed|ms|5|selection for the next block out of 100,000 orders
BenchmarkDelivery1000|cut|0|1,000 events/s to 1,000 listeners, listeners that were cut
BenchmarkDelivery1000|events/s|>950|the same, events that were published in a second
BenchmarkDelivery1000|lag-ms|250|the same, after the last event until all have all
BenchmarkDelivery1000|loaded/bare|2|the same, times the processor's time of a bare write
BenchmarkDelivery1000|alone/bare|2|an event alone to 1,000 listeners, times that of a bare write
BenchmarkListener10000|listeners|>10000|listeners at a time on one process
BenchmarkListener10000|KiB/listener|64|memory of each of them, connection and all, KiB
BenchmarkRestartAfterOrders/many|ready-ms|3000|restart of the bundle RPC to its first request after 10,000,000 ended orders
BenchmarkMemory|bytes/order|2048|an order alive beyond its transactions, bytes
BenchmarkPage10M/offset|worst-ms|50|page of 500 of 10,000,000 events, any offset, the slowest
BenchmarkPage10M/blocks|worst-ms|50|the same between any two blocks
BenchmarkPage10M/times|worst-ms|50|the same between any two times
BenchmarkPage10M/both|worst-ms|50|the same between blocks and times
GOALS
