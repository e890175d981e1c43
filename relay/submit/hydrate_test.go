package submit

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// block makes a submission with random transactions of these lengths and this many blobs.
func block(fork eth.Fork, seed uint64, transactionBytes []int, blobs int) *relay.Submission {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(fork)})
	fill := func(b []byte) []byte {
		_, _ = random.Read(b) // never fails
		return b
	}
	s := &relay.Submission{
		Fork: fork, Trace: &relay.BidTrace{Slot: seed, Value: uint256.NewInt(seed)},
		Payload:  &payload.Payload{BaseFeePerGas: uint256.NewInt(7)},
		Sequence: seed, Cancellable: true,
	}
	fill(s.Signature[:])
	for _, length := range transactionBytes {
		s.Payload.Transactions = append(s.Payload.Transactions, fill(make([]byte, length)))
	}
	if fork >= eth.Deneb {
		s.Blobs = &payload.Blobs{
			Commitments: make([]deneb.KZGCommitment, blobs), Blobs: make([]deneb.Blob, blobs),
			Proofs: make([]deneb.KZGProof, blobs*fork.ProofsPerBlob()),
		}
		for i := range blobs {
			fill(s.Blobs.Commitments[i][:])
			fill(s.Blobs.Blobs[i][:64])
		}
		for i := range s.Blobs.Proofs {
			fill(s.Blobs.Proofs[i][:])
		}
	}
	if fork >= eth.Electra {
		s.Requests = payload.EmptyRequests()
	}
	return s
}

func all[T any](T) bool  { return true }
func none[T any](T) bool { return false }

func same(t rapid.TB, got, want *relay.Submission) {
	t.Helper()
	a, err := wire.EncodeSubmission(wire.SSZ, got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := wire.EncodeSubmission(wire.SSZ, want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) || got.Sequence != want.Sequence || got.Cancellable != want.Cancellable {
		t.Fatalf("filled: %d transactions and %d bytes, want %d and %d", len(got.Payload.Transactions), len(a),
			len(want.Payload.Transactions), len(b))
	}
}

// Whatever a builder leaves out of what it has sent, the relay sees the whole block, over both
// encodings of what went between them.
func TestFillUndoesDehydrate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fork := rapid.SampledFrom(eth.Forks()).Draw(t, "fork")
		lengths := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(33, 40), rapid.IntRange(33, 3000)), 0, 12).Draw(t,
			"transactions")
		whole := block(fork, rapid.Uint64Range(0, 999).Draw(t, "seed"), lengths, rapid.IntRange(0, 4).Draw(t, "blobs"))
		leave := rapid.Uint64().Draw(t, "left out")
		bit := func(first byte) bool { return leave>>(first%64)&1 == 1 }
		dehydrated, sent := wire.Dehydrate(whole,
			func(hash [32]byte) bool { return bit(hash[0]) }, func(k deneb.KZGCommitment) bool { return bit(k[0]) })

		var cache HydrationCache
		cache.Remember("a", whole)
		media := rapid.SampledFrom([]wire.Media{wire.JSON, wire.SSZ}).Draw(t, "media")
		body, err := wire.EncodeSubmission(media, dehydrated)
		if err != nil {
			t.Fatal(err)
		}
		came, err := wire.DecodeSubmission(fork, media, body)
		if err != nil {
			t.Fatal(err)
		}
		came.Sequence, came.Cancellable = whole.Sequence, whole.Cancellable
		places, err := wire.ParseSent(wire.FormatSent(sent))
		if err != nil {
			t.Fatal(err)
		}
		filled, err := cache.Fill("a", came, places)
		if err != nil {
			t.Fatal(err)
		}
		same(t, filled, whole)
		if filled.Signature != whole.Signature {
			t.Fatal("another signature")
		}
	})
}

// What came dehydrated and was filled is remembered like what came whole.
func TestFilledIsRemembered(t *testing.T) {
	var cache HydrationCache
	first := block(eth.Fulu, 1, []int{100, 200}, 1)
	cache.Remember("a", first)
	second := block(eth.Fulu, 2, []int{300}, 1)
	second.Payload.Transactions = append(second.Payload.Transactions, first.Payload.Transactions...)
	knows := func(hash [32]byte) bool { return hash != wire.TransactionHash(second.Payload.Transactions[0]) }
	dehydrated, sent := wire.Dehydrate(second, knows, none[deneb.KZGCommitment])
	filled, err := cache.Fill("a", dehydrated, sent)
	if err != nil {
		t.Fatal(err)
	}
	cache.Remember("a", filled)
	nothing, sent := wire.Dehydrate(second, all[[32]byte], all[deneb.KZGCommitment])
	if filled, err = cache.Fill("a", nothing, sent); err != nil {
		t.Fatal(err)
	}
	same(t, filled, second)
}

// Nobody finds out what another builder has sent.
func TestBuildersDoNotShare(t *testing.T) {
	var cache HydrationCache
	whole := block(eth.Fulu, 1, []int{100, 200}, 2)
	cache.Remember("a", whole)
	dehydrated, sent := wire.Dehydrate(whole, all[[32]byte], all[deneb.KZGCommitment])
	_, err := cache.Fill("b", dehydrated, sent)
	var missing *MissingItem
	if !errors.As(err, &missing) {
		t.Fatalf("%v", err)
	}
	if !reflect.DeepEqual(missing.Commitments, whole.Blobs.Commitments) || len(missing.Transactions) != 2 ||
		missing.Transactions[0] != wire.TransactionHash(whole.Payload.Transactions[0]) {
		t.Errorf("missing %+v", missing)
	}
	var refused *relay.Refused
	if !errors.As(err, &refused) || refused.ID != relay.SubmissionNotHydratable.ID {
		t.Fatalf("refused with %+v", refused)
	}
	if first := fmt.Sprintf("%#x", missing.Transactions[0]); !strings.Contains(err.Error(), first) ||
		!strings.Contains(err.Error(), "whole block") {
		t.Errorf("%q does not name %s", err, first)
	}
}

// What is left out is counted by whether it is there: also what is there of a submission of which
// something else is missing.
func TestLeftOutIsCounted(t *testing.T) {
	var cache HydrationCache
	whole := block(eth.Fulu, 1, []int{100, 200}, 2)
	cache.Remember("a", whole)
	dehydrated, sent := wire.Dehydrate(whole, all[[32]byte], all[deneb.KZGCommitment])
	if _, err := cache.Fill("a", dehydrated, sent); err != nil {
		t.Fatal(err)
	}
	dehydrated.Payload.Transactions = append(dehydrated.Payload.Transactions, bytes.Repeat([]byte{7}, 32))
	if _, err := cache.Fill("a", dehydrated, sent); err == nil {
		t.Fatal("a transaction that nobody sent was found")
	}
	if found, missing := cache.Counts(); found != 8 || missing != 1 {
		t.Errorf("%d found, %d missing", found, missing)
	}
}

// However much is missing, the error stays small and still counts all.
func TestMissingIsBounded(t *testing.T) {
	var cache HydrationCache
	s := block(eth.Deneb, 1, nil, 40)
	for i := range 1000 {
		s.Payload.Transactions = append(s.Payload.Transactions, bytes.Repeat([]byte{byte(i)}, 32))
	}
	s.Blobs.Blobs, s.Blobs.Proofs = nil, nil
	_, err := cache.Fill("a", s, nil)
	var missing *MissingItem
	if !errors.As(err, &missing) {
		t.Fatal(err)
	}
	if len(missing.Transactions) != maxNamed || missing.MoreTransactions != 1000-maxNamed ||
		len(missing.Commitments) != maxNamed ||
		missing.MoreCommitments != 40-maxNamed || len(err.Error()) > 300 {
		t.Errorf("%d+%d transactions, %d+%d blobs: %v",
			len(missing.Transactions), missing.MoreTransactions, len(missing.Commitments), missing.MoreCommitments, err)
	}
}

func TestFormIsRefused(t *testing.T) {
	whole := block(eth.Fulu, 1, []int{100}, 3)
	cache := HydrationCache{BlockBytes: 1 << 20}
	cache.Remember("a", whole)
	with := func(blobs, proofs int) *relay.Submission {
		s, bundle := *whole, *whole.Blobs
		bundle.Blobs, bundle.Proofs = bundle.Blobs[:blobs], bundle.Proofs[:proofs]
		s.Blobs = &bundle
		return &s
	}
	early := block(eth.Capella, 1, []int{100}, 0)
	bomb := block(eth.Capella, 1, []int{100_000}, 0)
	cache.Remember("a", bomb)
	hash := wire.TransactionHash(bomb.Payload.Transactions[0])
	dry := block(eth.Capella, 1, nil, 0)
	for range 11 {
		dry.Payload.Transactions = append(dry.Payload.Transactions, hash[:])
	}
	manyBlobs := with(0, 0)
	for range 8 {
		manyBlobs.Blobs.Commitments = append(manyBlobs.Blobs.Commitments, whole.Blobs.Commitments[0])
	}
	for name, row := range map[string]struct {
		s    *relay.Submission
		sent []int
		good bool
	}{
		"whole":                      {whole, []int{0, 1, 2}, true},
		"whole without the header":   {whole, nil, true},
		"no blobs, no header":        {with(0, 0), nil, true},
		"the middle one":             {with(1, 128), []int{1}, true},
		"places twice":               {with(2, 256), []int{1, 1}, false},
		"places descend":             {with(2, 256), []int{2, 1}, false},
		"place of nothing":           {with(1, 128), []int{3}, false},
		"place below nothing":        {with(1, 128), []int{-1}, false},
		"more places than blobs":     {with(1, 128), []int{0, 1}, false},
		"fewer places than blobs":    {with(2, 256), []int{0}, false},
		"some blobs, no header":      {with(2, 256), nil, false},
		"a proof short":              {with(1, 127), []int{0}, false},
		"proofs of blobs not sent":   {with(1, 384), []int{0}, false},
		"blobs before deneb":         {early, []int{0}, false},
		"before deneb":               {early, nil, true},
		"small, but large if filled": {dry, nil, false},
		"many times the same blob":   {manyBlobs, nil, false},
	} {
		_, err := cache.Fill("a", row.s, row.sent)
		var refused *relay.Refused
		if row.good && err != nil || !row.good &&
			(!errors.As(err, &refused) || refused.ID != relay.SubmissionHydrationForm.ID) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A blob that was wrong under its commitment gives way to the one that comes next, and its proofs
// of an earlier fork are no proofs of this one.
func TestLatestBlobCounts(t *testing.T) {
	var cache HydrationCache
	wrong, right := block(eth.Fulu, 1, nil, 1), block(eth.Fulu, 1, nil, 1)
	wrong.Blobs.Blobs[0][99] ^= 1
	cache.Remember("a", wrong)
	cache.Remember("a", right)
	dehydrated, sent := wire.Dehydrate(right, none[[32]byte], all[deneb.KZGCommitment])
	filled, err := cache.Fill("a", dehydrated, sent)
	if err != nil {
		t.Fatal(err)
	}
	same(t, filled, right)
	old := *dehydrated
	old.Fork = eth.Electra
	if _, err := cache.Fill("a", &old, sent); !errors.As(err, new(*MissingItem)) {
		t.Errorf("128 proofs serve where one belongs: %v", err)
	}
}

// A builder's cache never holds more than its limit, and what was used last stays.
func TestShelfLetsTheOldestGo(t *testing.T) {
	const limitBytes = 10 * (itemBytes + 1000)
	cache := HydrationCache{BuilderBytes: limitBytes}
	favourite := block(eth.Capella, 0, []int{1000}, 0)
	asks := func(s *relay.Submission) error {
		dehydrated, sent := wire.Dehydrate(s, all[[32]byte], all[deneb.KZGCommitment])
		_, err := cache.Fill("a", dehydrated, sent)
		return err
	}
	cache.Remember("a", favourite)
	for seed := range uint64(50) {
		cache.Remember("a", block(eth.Capella, seed+1, []int{1000}, 0))
		if err := asks(favourite); err != nil {
			t.Fatalf("after %d others: %v", seed+1, err)
		}
		if shelf := cache.cacheOf("a"); shelf.bytes > limitBytes || len(shelf.items) > 10 ||
			shelf.order.Len() != len(shelf.items) {
			t.Fatalf("%d bytes in %d items", shelf.bytes, len(shelf.items))
		}
	}
	if err := asks(block(eth.Capella, 50, []int{1000}, 0)); err != nil {
		t.Error(err)
	}
	if err := asks(block(eth.Capella, 1, []int{1000}, 0)); !errors.As(err, new(*MissingItem)) {
		t.Errorf("the oldest is still there: %v", err)
	}
	cache.Remember("a", block(eth.Capella, 99, []int{limitBytes}, 0))
	if shelf := cache.cacheOf("a"); shelf.bytes != 0 || len(shelf.items) != 0 {
		t.Errorf("%d bytes in %d items after one that is too large", shelf.bytes, len(shelf.items))
	}
}

// Several connections of several builders use the cache at once (with -race).
func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	cache := HydrationCache{BuilderBytes: 1 << 20}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			name := fmt.Sprint(worker % 2)
			for seed := range uint64(20) {
				whole := block(eth.Fulu, seed, []int{100, 1000}, 1)
				cache.Remember(name, whole)
				dehydrated, sent := wire.Dehydrate(whole, all[[32]byte], all[deneb.KZGCommitment])
				if filled, err := cache.Fill(name, dehydrated, sent); err == nil {
					same(t, filled, whole)
				} else if !errors.As(err, new(*MissingItem)) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// Whatever comes, it is filled to something that fits together, or refused with one of the two
// refusals.
func FuzzFill(f *testing.F) {
	var cache HydrationCache
	for _, fork := range eth.Forks() {
		whole := block(fork, 1, []int{33, 100}, 0)
		cache.Remember("a", whole)
		dehydrated, sent := wire.Dehydrate(whole, all[[32]byte], all[deneb.KZGCommitment])
		body, err := wire.EncodeSubmission(wire.SSZ, dehydrated)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(fork), body, wire.FormatSent(sent))
		f.Add(byte(fork), body, "0,1")
	}
	withBlob := block(eth.Fulu, 2, nil, 1)
	cache.Remember("a", withBlob)
	dehydrated, _ := wire.Dehydrate(withBlob, none[[32]byte], all[deneb.KZGCommitment])
	body, err := wire.EncodeSubmission(wire.SSZ, dehydrated)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(eth.Fulu), body, "")
	f.Fuzz(func(t *testing.T, fork byte, body []byte, header string) {
		s, err := wire.DecodeSubmission(eth.Fork(fork), wire.SSZ, body)
		if err != nil {
			return
		}
		sent, err := wire.ParseSent(header)
		if err != nil {
			return
		}
		filled, err := cache.Fill("a", s, sent)
		if refused := (*relay.Refused)(nil); err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if err != nil || filled.Blobs == nil {
			return
		}
		if b := filled.Blobs; len(b.Blobs) != len(b.Commitments) || len(b.Proofs) != len(b.Blobs)*s.Fork.ProofsPerBlob() {
			t.Fatalf("%d commitments, %d blobs, %d proofs", len(b.Commitments), len(b.Blobs), len(b.Proofs))
		}
	})
}

// What dehydration saves: a block of 1.2 MB of which a tenth is new. bytes/whole is what still goes
// over the wire; time/whole is decoding and filling against decoding the whole one; fill/copy is
// Fill alone against one copy of the block's bytes.
func BenchmarkFill(b *testing.B) {
	whole := block(eth.Fulu, 1, typicalBytes, 6)
	var cache HydrationCache
	cache.Remember("a", whole)
	count := 0
	dehydrated, sent := wire.Dehydrate(whole,
		func([32]byte) bool { count++; return count%10 != 0 }, func(k deneb.KZGCommitment) bool {
			return k != whole.Blobs.Commitments[3]
		})
	for name, media := range map[string]wire.Media{"ssz": wire.SSZ, "json": wire.JSON} {
		b.Run(name, func(b *testing.B) { benchmarkFill(b, &cache, media, whole, dehydrated, sent) })
	}
}

func benchmarkFill(b *testing.B, cache *HydrationCache, media wire.Media, whole, dehydrated *relay.Submission,
	sent []int) {
	full, err := wire.EncodeSubmission(media, whole)
	if err != nil {
		b.Fatal(err)
	}
	thin, err := wire.EncodeSubmission(media, dehydrated)
	if err != nil {
		b.Fatal(err)
	}
	decode := func(body []byte) *relay.Submission {
		s, err := wire.DecodeSubmission(eth.Fulu, media, body)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	var took, wholeTook, filling, copying time.Duration
	for b.Loop() {
		start := time.Now()
		decode(full)
		decoded := time.Now()
		s := decode(thin)
		thinned := time.Now()
		if _, err := cache.Fill("a", s, sent); err != nil {
			b.Fatal(err)
		}
		filled := time.Now()
		sink = append([]byte(nil), full...)
		wholeTook, took = wholeTook+decoded.Sub(start), took+filled.Sub(decoded)
		filling, copying = filling+filled.Sub(thinned), copying+time.Since(filled)
	}
	b.ReportMetric(float64(len(full))/1e6, "MB")
	b.ReportMetric(float64(len(thin))/float64(len(full)), "bytes/whole")
	b.ReportMetric(float64(took)/float64(wholeTook), "time/whole")
	b.ReportMetric(float64(filling)/float64(copying), "fill/copy")
}

var sink []byte

// Remembering a block that is known already, against decoding it. It happens after the answer.
func BenchmarkRemember(b *testing.B) {
	whole := block(eth.Fulu, 1, typicalBytes, 6)
	body, err := wire.EncodeSubmission(wire.SSZ, whole)
	if err != nil {
		b.Fatal(err)
	}
	var cache HydrationCache
	var remembering, decoding time.Duration
	for b.Loop() {
		start := time.Now()
		cache.Remember("a", whole)
		remembered := time.Now()
		if _, err := wire.DecodeSubmission(eth.Fulu, wire.SSZ, body); err != nil {
			b.Fatal(err)
		}
		remembering, decoding = remembering+remembered.Sub(start), decoding+time.Since(remembered)
	}
	b.ReportMetric(float64(remembering)/float64(decoding), "remember/decode")
}

// typicalBytes are the lengths of a block's transactions.
var typicalBytes = func() (lengths []int) {
	for i := range 250 {
		lengths = append(lengths, 400+10*i)
	}
	return lengths
}()
