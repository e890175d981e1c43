package bls

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	blst "github.com/supranational/blst/bindings/go"
	"pgregory.net/rapid"
)

// signed are n good triples of different keys and roots.
func signed(n int) []Triple {
	triples := make([]Triple, n)
	for i := range triples {
		key := Derive("batch", uint64(i))
		triples[i] = Triple{Key: key.PublicKey(), Root: phase0.Root{byte(i), byte(i >> 8)}}
		triples[i].Signature = key.Sign(triples[i].Root)
	}
	return triples
}

// shifted moves a signature by a point: what is added to one and taken from another does not show
// in their sum.
func shifted(signature phase0.BLSSignature, by *blst.P2Affine, back bool) (moved phase0.BLSSignature) {
	var point blst.P2
	point.FromAffine(new(blst.P2Affine).Uncompress(signature[:]))
	if back {
		point.SubAssign(by)
	} else {
		point.AddAssign(by)
	}
	copy(moved[:], point.ToAffine().Compress())
	return moved
}

// outsideG1 and outsideG2 are points of the curves but not of their subgroups.
func outsideG1() (key phase0.BLSPubKey) {
	for x := byte(0); ; x++ {
		key = phase0.BLSPubKey{0: 0x80, 47: x}
		if point := new(blst.P1Affine).Uncompress(key[:]); point != nil && !point.InG1() {
			return key
		}
	}
}

func outsideG2() (signature phase0.BLSSignature) {
	for x := byte(0); ; x++ {
		signature = phase0.BLSSignature{0: 0x80, 95: x}
		if point := new(blst.P2Affine).Uncompress(signature[:]); point != nil && !point.InG2() {
			return signature
		}
	}
}

// spoil are the ways in which a batch is made bad; each may touch two of its entries.
var spoil = map[string]func(a, b *Triple){
	"wrong key":             func(a, b *Triple) { a.Key = b.Key },
	"wrong root":            func(a, _ *Triple) { a.Root[31] ^= 1 },
	"swapped signatures":    func(a, b *Triple) { a.Signature, b.Signature = b.Signature, a.Signature },
	"key at infinity":       func(a, _ *Triple) { a.Key = phase0.BLSPubKey{0xc0} },
	"all at infinity":       func(a, _ *Triple) { a.Key, a.Signature = phase0.BLSPubKey{0xc0}, phase0.BLSSignature{0xc0} },
	"signature at infinity": func(a, _ *Triple) { a.Signature = phase0.BLSSignature{0xc0} },
	"key outside":           func(a, _ *Triple) { a.Key = outsideG1() },
	"signature outside":     func(a, _ *Triple) { a.Signature = outsideG2() },
	"zero key":              func(a, _ *Triple) { a.Key = phase0.BLSPubKey{} },
	"malformed signature":   func(a, _ *Triple) { a.Signature[0] ^= 0x80 },
	"moved against each other": func(a, b *Triple) {
		by := blst.HashToG2([]byte("difference"), ciphersuite).ToAffine()
		x, y := new(blst.P2Affine).Uncompress(a.Signature[:]), new(blst.P2Affine).Uncompress(b.Signature[:])
		if x != nil && y != nil && a != b {
			a.Signature, b.Signature = shifted(a.Signature, by, false), shifted(b.Signature, by, true)
		}
	},
}

// wantSameVerdicts compares with verification one by one.
func wantSameVerdicts(t rapid.TB, triples []Triple) {
	t.Helper()
	verdicts, bad := VerifyBatch(triples, runtime.NumCPU()), false
	if verdicts == nil {
		verdicts = make([]error, len(triples))
	}
	for i, triple := range triples {
		want := Verify(triple.Key, triple.Root, triple.Signature)
		bad = bad || want != nil
		if got := verdicts[i]; fmt.Sprint(got) != fmt.Sprint(want) || !errors.Is(got, want) && errors.Unwrap(want) == nil {
			t.Errorf("entry %d of %d: %v, one by one %v", i, len(triples), got, want)
		}
	}
	if !bad && VerifyBatch(triples, runtime.NumCPU()) != nil {
		t.Error("verdicts of a good batch, want nil")
	}
}

func TestBatchNamesEachWayToBeBad(t *testing.T) {
	for name, bad := range spoil {
		t.Run(name, func(t *testing.T) {
			triples := signed(9)
			bad(&triples[3], &triples[4])
			if VerifyBatch(triples, runtime.NumCPU()) == nil {
				t.Fatal("the batch passes")
			}
			wantSameVerdicts(t, triples)
		})
	}
	if VerifyBatch(nil, runtime.NumCPU()) != nil || VerifyBatch(signed(1), runtime.NumCPU()) != nil ||
		VerifyBatch(signed(2), runtime.NumCPU()) != nil {
		t.Error("a good batch has verdicts")
	}
}

// The law of the batch: wherever bad entries stand and however many they are, the verdicts are
// those of Verify.
func TestBatchIsVerificationOneByOne(t *testing.T) {
	good := signed(40)
	rapid.Check(t, func(t *rapid.T) {
		triples := append([]Triple{}, good[:rapid.IntRange(2, len(good)).Draw(t, "entries")]...)
		place := rapid.IntRange(0, len(triples)-1)
		for range rapid.IntRange(0, 6).Draw(t, "bad") {
			bad := spoil[rapid.SampledFrom(names()).Draw(t, "way")]
			bad(&triples[place.Draw(t, "a")], &triples[place.Draw(t, "b")])
		}
		wantSameVerdicts(t, triples)
	})
}

func names() (list []string) {
	for name := range spoil {
		list = append(list, name)
	}
	return list
}

// With every entry bad the bisecting runs out of its budget and goes on one by one.
func TestBatchOfBadEntries(t *testing.T) {
	triples := signed(70)
	for i := range triples {
		triples[i].Root[31] ^= 1
	}
	wantSameVerdicts(t, triples)
	triples[11].Root[31] ^= 1
	wantSameVerdicts(t, triples)
}

func TestChunksAreEven(t *testing.T) {
	for _, row := range []struct{ n, cores, want int }{
		{1, 2, 1}, {2, 2, 1}, {100, 2, 50}, {256, 2, 128}, {257, 2, 65}, {500, 2, 125}, {500, 64, 8}, {100_000, 2, 128},
	} {
		if got := chunkSize(row.n, row.cores); got != row.want {
			t.Errorf("%d entries on %d cores: chunks of %d, want %d", row.n, row.cores, got, row.want)
		}
	}
}

// BenchmarkRegistrations500 compares a batch of 500, on half of the cores as the relay verifies
// registrations, with verification one by one on one core. Ratios: how many times quicker the batch
// is when all are good, when one is bad, when ten are bad, and when all are.
func BenchmarkRegistrations500(b *testing.B) {
	for name, cores := range map[string]int{"half": max(1, runtime.NumCPU()/2), "all": runtime.NumCPU()} {
		for _, bad := range []int{0, 1, 10, 500} {
			b.Run(fmt.Sprintf("cores=%s/bad=%d", name, bad), func(b *testing.B) {
				triples := signed(500)
				for i := range bad {
					triples[i*500/bad].Root[31] ^= 1
				}
				var single, batch time.Duration
				for b.Loop() {
					start := time.Now()
					for _, t := range triples {
						_ = Verify(t.Key, t.Root, t.Signature)
					}
					single += time.Since(start)
					start = time.Now()
					VerifyBatch(triples, cores)
					batch += time.Since(start)
				}
				b.ReportMetric(float64(single)/float64(batch), "x-quicker")
				b.ReportMetric(float64(batch.Microseconds())/float64(b.N)/500, "µs/entry")
			})
		}
	}
}
