package bls

import (
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"slices"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	blst "github.com/supranational/blst/bindings/go"
)

// Triple is one signature to be verified: what Verify takes.
type Triple struct {
	Key       phase0.BLSPubKey
	Root      phase0.Root // signing root
	Signature phase0.BLSSignature
}

// A chunk is what one core verifies at a time. Beyond maxChunk the shared part of the work no longer gets noticeably cheaper, and a bad
// entry costs its chunk only.
const (
	maxChunk    = 128
	scalarBytes = 8
)

// VerifyBatch verifies many signatures on all cores. The answers are those of Verify, by the place of the triple; nil if all are good.
//
// The good ones of a chunk are found together: with random scalars r the product of e(r·key, hash(root)) must equal e(Σ r·signature), of
// which the final exponentiation and the sum are shared. Without the scalars two wrong signatures could cancel each other out; with them
// the odds of that are 2⁻⁶⁴. A chunk that fails is bisected, and looked at one by one when that gets dearer than it is worth.
func VerifyBatch(triples []Triple) []error {
	if len(triples) == 0 {
		return nil
	}
	verdicts := make([]error, len(triples))
	size := chunkSize(len(triples), runtime.GOMAXPROCS(0))
	chunks := make(chan int, (len(triples)+size-1)/size)
	for start := 0; start < len(triples); start += size {
		chunks <- start
	}
	close(chunks)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(chunks)) {
		workers.Go(func() {
			for start := range chunks {
				end := min(start+size, len(triples))
				verifyChunk(triples[start:end], verdicts[start:end])
			}
		})
	}
	workers.Wait()
	if !slices.ContainsFunc(verdicts, func(err error) bool { return err != nil }) {
		return nil
	}
	return verdicts
}

// chunkSize shares n entries out evenly: as few chunks as maxChunk allows, but as many for one core as for another.
func chunkSize(n, cores int) int {
	rounds := (n + maxChunk*cores - 1) / (maxChunk * cores)
	return (n + rounds*cores - 1) / (rounds * cores)
}

func verifyChunk(triples []Triple, verdicts []error) {
	c := chunk{verdicts: verdicts}
	for i := range triples {
		verdicts[i] = c.add(i, &triples[i])
	}
	if len(c.places) == 0 {
		return
	}
	c.blind()
	whole := c.value(0, len(c.places))
	if whole.Equals(&one) {
		return
	}
	c.budget = bisectBudget * len(c.places)
	c.bisect(0, len(c.places), whole)
}

// bisectBudget is how many pairings per entry the search for bad entries may cost before it goes on one by one. It caps what a batch of
// nothing but bad entries can cost, and still finds a dozen of them in a chunk at the batch's price.
const bisectBudget = 2

var (
	one          = blst.Fp12One()
	negGenerator = func() *blst.P1Affine {
		return new(blst.P1).Sub(blst.P1Generator()).ToAffine()
	}()
)

// chunk holds the entries of which key and signature are points of their groups. It belongs to one goroutine.
type chunk struct {
	verdicts   []error
	places     []int // in verdicts
	keys       []*blst.P1Affine
	hashes     []*blst.P2Affine
	signatures []*blst.P2Affine
	scalars    []byte // little-endian, scalarBytes each
	blinded    []*blst.P1Affine
	budget     int // pairings that bisecting may still cost
}

func (c *chunk) add(place int, t *Triple) error {
	key, err := ParsePublicKey(t.Key)
	if err != nil {
		return err
	}
	signature, err := parseSignature(t.Signature)
	if err != nil {
		return err
	}
	c.places = append(c.places, place)
	c.keys, c.signatures = append(c.keys, key.point), append(c.signatures, signature)
	c.hashes = append(c.hashes, blst.HashToG2(t.Root[:], ciphersuite).ToAffine())
	return nil
}

// blind draws a scalar for each entry and multiplies the keys. One draw serves all halves that bisect looks at: which halves there can be
// was settled before the draw.
func (c *chunk) blind() {
	c.scalars = make([]byte, scalarBytes*len(c.keys))
	c.blinded = make([]*blst.P1Affine, len(c.keys))
	_, _ = rand.Read(c.scalars) // never fails: the program ends when the system has no randomness
	for i, key := range c.keys {
		scalar := c.scalars[scalarBytes*i:][:scalarBytes]
		for binary.LittleEndian.Uint64(scalar) == 0 {
			_, _ = rand.Read(scalar) // as above; zero would let anything pass
		}
		var point blst.P1
		point.FromAffine(key)
		c.blinded[i] = point.MultAssign(scalar, 8*scalarBytes).ToAffine()
	}
}

// value is Π e(r·key, hash) · e(-generator, Σ r·signature) over entries from to to-1, in the target group: one if all are good.
func (c *chunk) value(from, to int) *blst.Fp12 {
	pairing := blst.PairingCtx(true, ciphersuite)
	for i := from; i < to; i++ {
		blst.PairingRawAggregate(pairing, c.hashes[i], c.blinded[i])
	}
	sum := blst.P2AffinesMult(c.signatures[from:to], c.scalars[scalarBytes*from:scalarBytes*to], 8*scalarBytes)
	blst.PairingRawAggregate(pairing, sum.ToAffine(), negGenerator)
	blst.PairingCommit(pairing)
	value := blst.PairingAsFp12(pairing)
	value.FinalExp()
	return value
}

// bisect finds the bad entries of a range that has some; whole is the range's value. The value of a half tells that of the other: the
// whole is their product.
func (c *chunk) bisect(from, to int, whole *blst.Fp12) {
	if to-from == 1 {
		c.verdicts[c.places[from]] = ErrMismatch
		return
	}
	middle := (from + to) / 2
	c.budget -= middle - from
	if c.budget < 0 {
		c.oneByOne(from, to)
		return
	}
	left := c.value(from, middle)
	switch {
	case left.Equals(&one):
		c.bisect(middle, to, whole)
	case left.Equals(whole):
		c.bisect(from, middle, left)
	default:
		c.bisect(from, middle, left)
		c.budget -= to - middle
		c.bisect(middle, to, c.value(middle, to))
	}
}

func (c *chunk) oneByOne(from, to int) {
	for i := from; i < to; i++ {
		pairing := blst.PairingCtx(true, ciphersuite)
		blst.PairingRawAggregate(pairing, c.hashes[i], c.keys[i])
		blst.PairingRawAggregate(pairing, c.signatures[i], negGenerator)
		blst.PairingCommit(pairing)
		if !blst.PairingFinalVerify(pairing) {
			c.verdicts[c.places[i]] = ErrMismatch
		}
	}
}
