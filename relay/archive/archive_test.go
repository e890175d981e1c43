package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/relay"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 123_000, time.UTC)

// trace is a bid that can be told by its block hash: 1 is 0x01…01.
func trace(slot phase0.Slot, block byte, valueWei *uint256.Int) relay.Trace {
	return relay.Trace{
		Slot: slot, ParentHash: fill(0xa0), BlockHash: fill(block), Builder: phase0.BLSPubKey{0xb0},
		Proposer:     phase0.BLSPubKey{0xc0},
		FeeRecipient: relay.FeeRecipient{0xfe}, GasLimit: 36_000_000, GasUsed: 21_000, ValueWei: valueWei,
		NumTx: 3, NumBlobs: 2,
		BlockNumber: 1000 + uint64(slot),
	}
}

func fill(b byte) (hash phase0.Hash32) {
	for i := range hash {
		hash[i] = b
	}
	return hash
}

func wei(n uint64) *uint256.Int { return uint256.NewInt(n) }

func counted(t relay.Trace) relay.Fact {
	return relay.SubmissionJudged{Trace: t, ReceivedAt: noon, EligibleAt: noon, Verified: true}
}

func delivery(t relay.Trace) relay.Fact { return relay.PayloadDelivered{At: noon, Trace: t} }

func entryOf(t testing.TB, seq uint64, fact relay.Fact) projection.Entry {
	t.Helper()
	data, err := json.Marshal(fact)
	if err != nil {
		t.Fatal(err)
	}
	return projection.Entry{Seq: seq, Subject: "relay." + fact.Subject(), Data: data}
}

// record applies facts as the next ones of the journal.
func record(t testing.TB, a *Archive, facts ...relay.Fact) {
	t.Helper()
	last, err := a.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]projection.Entry, len(facts))
	for i, fact := range facts {
		entries[i] = entryOf(t, last+1+uint64(i), fact)
	}
	projectiontest.Apply(t, a, entries...)
}

// blocks are the first bytes of the block hashes of a list, in its order.
func blocks(t testing.TB, list []relay.Trace, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range list {
		names = append(names, fmt.Sprint(row.BlockHash[0]))
	}
	return strings.Join(names, " ")
}

func delivered(t testing.TB, a *Archive, q relay.TraceQuery) string {
	t.Helper()
	list, err := a.Delivered(t.Context(), q)
	traces := make([]relay.Trace, len(list))
	for i := range list {
		traces[i] = list[i].Trace
	}
	return blocks(t, traces, err)
}

func received(t testing.TB, a *Archive, q relay.TraceQuery) string {
	t.Helper()
	list, err := a.Received(t.Context(), q)
	traces := make([]relay.Trace, len(list))
	for i := range list {
		traces[i] = list[i].Trace
	}
	return blocks(t, traces, err)
}

// Refused bids are not listed, nor those below the floor, which were kept without being executed
// (decision 5); top changes and served headers deliver nothing.
func TestOnlyWhatCountsIsListed(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		record(t, a,
			relay.SubmissionJudged{Trace: trace(5, 1, wei(1)), ReceivedAt: noon, Verified: true},
			relay.SubmissionJudged{Trace: trace(5, 2, wei(2)), ReceivedAt: noon, Optimistic: true},
			relay.SubmissionJudged{Trace: trace(5, 3, wei(3)), ReceivedAt: noon},
			relay.SubmissionJudged{Trace: trace(5, 4, wei(4)), ReceivedAt: noon, Refusal: "submission-signature"},
			relay.SubmissionJudged{Trace: trace(5, 5, wei(5)), ReceivedAt: noon, Verified: true,
				Refusal: "submission-delivered"},
			relay.TopChanged{At: noon, Trace: trace(5, 6, wei(6))},
			relay.HeaderServed{At: noon, Slot: 5, BlockHash: fill(7), ValueWei: wei(7)},
			relay.PayloadRefused{At: noon, Slot: 5, BlockHash: fill(8)},
			relay.PayloadDelivered{At: noon, Trace: trace(5, 9, wei(9))},
		)
		if got := received(t, a, relay.TraceQuery{Limit: 10}); got != "2 1" {
			t.Errorf("received %q, want blocks 2 1", got)
		}
		if got := delivered(t, a, relay.TraceQuery{Limit: 10}); got != "9" {
			t.Errorf("delivered %q, want block 9", got)
		}
		if last, err := a.Last(t.Context()); err != nil || last != 9 {
			t.Errorf("progress %d, %v, want 9", last, err)
		}
	})
}

func TestRowsComeBackWhole(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		want := trace(5, 1, new(uint256.Int).SetAllOne())
		record(t, a, relay.SubmissionJudged{Trace: want, ReceivedAt: noon, Optimistic: true}, delivery(want))

		rows, err := a.Received(t.Context(), relay.TraceQuery{Limit: 1})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if got := rows[0]; !got.ReceivedAt.Equal(noon) || !got.Optimistic {
			t.Errorf("received at %v, optimistic %v", got.ReceivedAt, got.Optimistic)
		}
		list, err := a.Delivered(t.Context(), relay.TraceQuery{Limit: 1})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		for _, got := range []relay.Trace{rows[0].Trace, list[0].Trace} {
			if !got.ValueWei.Eq(want.ValueWei) {
				t.Errorf("value %s, want %s", got.ValueWei, want.ValueWei)
			}
			got.ValueWei = want.ValueWei
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
	})
}

func TestFilters(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		other := trace(7, 3, wei(5))
		other.Builder, other.Proposer = phase0.BLSPubKey{0xbb}, phase0.BLSPubKey{0xcc}
		facts := []relay.Trace{trace(5, 1, wei(10)), trace(6, 2, wei(9)), other, trace(7, 4, wei(10))}
		for _, one := range facts {
			record(t, a, counted(one), delivery(one))
		}
		for name, test := range map[string]struct {
			query relay.TraceQuery
			want  string
		}{
			"everything, newest first":       {relay.TraceQuery{}, "4 3 2 1"},
			"a slot":                         {relay.TraceQuery{Slot: new(phase0.Slot(7))}, "4 3"},
			"from a slot downwards":          {relay.TraceQuery{Cursor: new(phase0.Slot(6))}, "2 1"},
			"a block":                        {relay.TraceQuery{BlockHash: new(fill(2))}, "2"},
			"a number":                       {relay.TraceQuery{BlockNumber: new(uint64(1006))}, "2"},
			"a builder":                      {relay.TraceQuery{Builder: &other.Builder}, "3"},
			"a proposer":                     {relay.TraceQuery{Proposer: &other.Proposer}, "3"},
			"two filters":                    {relay.TraceQuery{Slot: new(phase0.Slot(7)), Builder: &facts[0].Builder}, "4"},
			"a block in a slot not its own":  {relay.TraceQuery{Slot: new(phase0.Slot(5)), BlockHash: new(fill(2))}, ""},
			"cheapest first, then the newer": {relay.TraceQuery{Order: relay.ValueAscending}, "3 2 4 1"},
			"dearest first, then the newer":  {relay.TraceQuery{Order: relay.ValueDescending}, "4 1 2 3"},
		} {
			t.Run(name, func(t *testing.T) {
				test.query.Limit = 10
				if got := delivered(t, a, test.query); got != test.want {
					t.Errorf("delivered %q, want %q", got, test.want)
				}
				if got := received(t, a, test.query); got != test.want {
					t.Errorf("received %q, want %q", got, test.want)
				}
				test.query.Limit = 1
				if got, want := delivered(t, a, test.query), strings.Split(test.want, " ")[0]; got != want {
					t.Errorf("limit 1: %q, want %q", got, want)
				}
			})
		}
		for _, limit := range []int{0, -1} {
			list, err := a.Delivered(t.Context(), relay.TraceQuery{Limit: limit})
			if err != nil || list == nil || len(list) != 0 {
				t.Errorf("limit %d: %v, %v, want an empty list", limit, list, err)
			}
		}
	})
}

// Values that differ where a float, a 64-bit number or a text would not tell.
func TestValuesOrderExactly(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		ascending := []string{"0", "9", "10", "18446744073709551615", "18446744073709551616",
			"100000000000000000000000000000",
			"100000000000000000000000000001", uint256.NewInt(0).SetAllOne().Dec()}
		for i, value := range slices.Backward(ascending) {
			record(t, a, delivery(trace(5, byte(i+1), uint256.MustFromDecimal(value))))
		}
		if got := delivered(t, a, relay.TraceQuery{Order: relay.ValueAscending, Limit: 10}); got != "1 2 3 4 5 6 7 8" {
			t.Errorf("ascending %q", got)
		}
		if got := delivered(t, a, relay.TraceQuery{Order: relay.ValueDescending, Limit: 10}); got != "8 7 6 5 4 3 2 1" {
			t.Errorf("descending %q", got)
		}
	})
}

// A proposer may ask again after the relay has forgotten that it published: two facts, one
// delivery.
func TestABlockIsDeliveredOnce(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		record(t, a, delivery(trace(5, 1, wei(1))), delivery(trace(5, 1, wei(1))), delivery(trace(6, 1, wei(1))))
		if got := delivered(t, a, relay.TraceQuery{Slot: new(phase0.Slot(5)), Limit: 10}); got != "1" {
			t.Errorf("delivered %q, want one row", got)
		}
	})
}

// A fact that lacks what its row needs is passed over; those after it do not wait.
func TestUnreadableFactsAreSkipped(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		projectiontest.Apply(t, a,
			projection.Entry{Seq: 1, Subject: "relay.payload_delivered", Data: []byte("x")},
			entryOf(t, 2, delivery(trace(5, 1, wei(1)))),
			projection.Entry{Seq: 3, Subject: "relay.payload_delivered", Data: []byte("{}")},
			projection.Entry{Seq: 4, Subject: "relay.submission_judged", Data: []byte(`{"verified":true}`)},
			projection.Entry{Seq: 5, Subject: "relay.registration_stored", Data: []byte("{}")},
			entryOf(t, 6, delivery(trace(6, 2, wei(1)))),
		)
		if got := delivered(t, a, relay.TraceQuery{Limit: 10}); got != "2 1" {
			t.Errorf("delivered %q, want 2 1", got)
		}
		if last, err := a.Last(t.Context()); err != nil || last != 6 || a.Skipped() != 4 {
			t.Errorf("progress %d, %v, %d skipped, want 6 and 4", last, err, a.Skipped())
		}
	})
}

func registration(validator byte, gasLimit uint64) relay.Fact {
	return relay.RegistrationStored{At: noon, Registration: &relay.SignedRegistration{
		Message: &builderv1.ValidatorRegistration{
			FeeRecipient: relay.FeeRecipient{0xfe}, GasLimit: gasLimit, Timestamp: noon.Truncate(time.Second),
			Pubkey: phase0.BLSPubKey{validator},
		},
		Signature: phase0.BLSSignature{validator, 1},
	}}
}

func TestTheNewestRegistrationStands(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		record(t, a, registration(1, 30_000_000), registration(2, 30_000_000), registration(1, 36_000_000))
		got, err := a.Registration(t.Context(), phase0.BLSPubKey{1})
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		want := registration(1, 36_000_000).(relay.RegistrationStored).Registration
		if *got.Message != *want.Message || got.Signature != want.Signature {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if none, err := a.Registration(t.Context(), phase0.BLSPubKey{3}); err != nil || none != nil {
			t.Errorf("%v, %v for a validator that has none", none, err)
		}
		gasLimits := map[byte]uint64{}
		for one, err := range a.Registrations(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			gasLimits[one.Message.Pubkey[0]] = one.Message.GasLimit
		}
		if !maps.Equal(gasLimits, map[byte]uint64{1: 36_000_000, 2: 30_000_000}) {
			t.Errorf("gas limits by validator: %v", gasLimits)
		}
	})
}

func TestTheArchiveSurvivesARestart(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "archive.db")
	for _, want := range []string{"1", "2 1"} {
		a, err := Open(t.Context(), url, quiet)
		if err != nil {
			t.Fatal(err)
		}
		last, err := a.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		record(t, a, delivery(trace(5, byte(last+1), wei(1))))
		if got := delivered(t, a, relay.TraceQuery{Limit: 10}); got != want {
			t.Errorf("delivered %q, want %q", got, want)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkApply is the time of one fact in a batch of 1 and of the greatest.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{1, projection.MaxBatch} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			a, err := Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "archive.db"), quiet)
			if err != nil {
				b.Fatal(err)
			}
			defer a.Close()
			fact := entryOf(b, 0, counted(trace(5, 1, wei(1))))
			batch := make([]projection.Entry, size)
			seq := uint64(0)
			for b.Loop() {
				for i := range batch {
					seq++
					fact.Seq = seq
					batch[i] = fact
				}
				if err := a.Apply(context.Background(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(seq), "µs/fact")
		})
	}
}

// What a delivered block pays may be known when it is delivered, or only later; the greatest amount
// that an execution has proven counts.
func TestPaidValueOfADelivery(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		executed := func(block byte, paid *uint256.Int) relay.Fact {
			return relay.SubmissionExecuted{At: noon, Slot: 5, BlockHash: fill(block), Class: "valid", PaidWei: paid}
		}
		record(t, a,
			delivery(trace(5, 1, wei(9))),
			relay.PayloadDelivered{At: noon, Trace: trace(5, 2, wei(9)), PaidWei: wei(3)},
			relay.PayloadDelivered{At: noon, Trace: trace(5, 3, wei(9)), PaidWei: wei(3)},
			executed(3, wei(8)), executed(3, wei(4)), executed(3, nil), executed(4, wei(7)),
		)
		list, err := a.Delivered(t.Context(), relay.TraceQuery{Limit: 10})
		if err != nil || len(list) != 3 {
			t.Fatalf("%v, %v", list, err)
		}
		if list[2].PaidWei != nil || !list[1].PaidWei.Eq(wei(3)) || !list[0].PaidWei.Eq(wei(8)) {
			t.Errorf("paid %v, %v, %v: want nothing, 3 and 8", list[2].PaidWei, list[1].PaidWei, list[0].PaidWei)
		}
	})
}
