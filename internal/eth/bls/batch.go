package bls

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	blst "github.com/supranational/blst/bindings/go"
)

// Triple is one signature to be verified: the arguments of Verify.
type Triple struct {
	Key       phase0.BLSPubKey
	Root      phase0.Root // signing root
	Signature phase0.BLSSignature
}

// A chunk is what one core verifies at a time. Beyond maxChunk the shared part of the work hardly
// gets cheaper. Smaller chunks also limit the cost of a bad entry, which is paid in its own chunk
// only.
const (
	maxChunk    = 128
	scalarBytes = 8
)

// VerifyBatch verifies many signatures, on as many cores as cores says. The result has the answer
// of Verify for each triple, at the triple's index; it is nil if all signatures are good.
//
// The signatures of a chunk are verified together: with random scalars r the product of e(r·key,
// hash(root)) must equal e(generator, Σ r·signature). They share the final exponentiation and the
// sum. Without the scalars two wrong signatures could cancel each other out; with them the
// probability of that is 2⁻⁶⁴. A chunk that fails is bisected. When bisecting has cost more than
// bisectBudget, the rest is verified one by one.
func VerifyBatch(triples []Triple, cores int) []error {
	if len(triples) == 0 {
		return nil
	}
	verdicts := make([]error, len(triples))
	size := chunkSize(len(triples), cores)
	chunks := make(chan int, (len(triples)+size-1)/size)
	for start := 0; start < len(triples); start += size {
		chunks <- start
	}
	close(chunks)
	var workers sync.WaitGroup
	for range min(cores, len(chunks)) {
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

// chunkSize divides n entries evenly: into as few chunks as maxChunk allows, with the same number
// of chunks for each core.
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
	c.pair()
	whole := c.value(0, len(c.places))
	if whole.Equals(&one) {
		return
	}
	c.budget = bisectBudget * len(c.places)
	c.bisect(0, len(c.places), whole)
}

// bisectBudget is what the search for bad entries may cost, in Miller loops per entry, before it
// goes on one by one. It caps the cost of a batch of bad entries only. A handful of bad entries in
// a chunk is still found at about the price of the batch.
const bisectBudget = 1

// groupSize is how many Miller loops blst runs together. The product of each group is kept, so
// bisecting repeats Miller loops only within a group.
const groupSize = 8

var (
	one          = blst.Fp12One()
	negGenerator = func() *blst.P1Affine {
		return new(blst.P1).Sub(blst.P1Generator()).ToAffine()
	}()
)

// chunk holds the entries whose key and signature are points of their groups. It belongs to one
// goroutine.
type chunk struct {
	verdicts   []error
	places     []int // indexes in verdicts
	keys       []*blst.P1Affine
	hashes     []*blst.P2Affine
	signatures []*blst.P2Affine
	scalars    []byte // little-endian, scalarBytes each
	blinded    []*blst.P1Affine
	groups     []*blst.Fp12 // Π e(r·key, hash) of each group, before the final exponentiation
	budget     int          // what bisecting may still cost, in Miller loops
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

// blind draws a random scalar for each entry and multiplies the keys by them. The scalars may serve
// all halves that bisect looks at, because the possible halves do not depend on them.
func (c *chunk) blind() {
	c.scalars = make([]byte, scalarBytes*len(c.keys))
	c.blinded = make([]*blst.P1Affine, len(c.keys))
	_, _ = rand.Read(c.scalars) // never fails: the program ends when the system has no randomness
	for i, key := range c.keys {
		scalar := c.scalars[scalarBytes*i:][:scalarBytes]
		for binary.LittleEndian.Uint64(scalar) == 0 {
			_, _ = rand.Read(scalar) // never fails, as above; zero would accept any signature
		}
		var point blst.P1
		point.FromAffine(key)
		c.blinded[i] = point.MultAssign(scalar, 8*scalarBytes).ToAffine()
	}
}

// pair runs the Miller loops of all groups.
func (c *chunk) pair() {
	for from := 0; from < len(c.places); from += groupSize {
		c.groups = append(c.groups, c.miller(from, min(from+groupSize, len(c.places))))
	}
}

func (c *chunk) miller(from, to int) *blst.Fp12 {
	pairing := blst.PairingCtx(true, ciphersuite)
	for i := from; i < to; i++ {
		blst.PairingRawAggregate(pairing, c.hashes[i], c.blinded[i])
	}
	blst.PairingCommit(pairing)
	return blst.PairingAsFp12(pairing)
}

// value is Π e(r·key, hash) · e(-generator, Σ r·signature) over entries from to to-1, in the target
// group. It is one if all are valid.
func (c *chunk) value(from, to int) *blst.Fp12 {
	sum := blst.P2AffinesMult(c.signatures[from:to], c.scalars[scalarBytes*from:scalarBytes*to], 8*scalarBytes)
	value := blst.Fp12MillerLoop(sum.ToAffine(), negGenerator)
	if c.grouped(from, to) {
		for _, group := range c.groups[from/groupSize : (to+groupSize-1)/groupSize] {
			value.MulAssign(group)
		}
	} else {
		value.MulAssign(c.miller(from, to))
	}
	value.FinalExp()
	return value
}

// grouped says whether a range consists of whole groups.
func (c *chunk) grouped(from, to int) bool {
	return from%groupSize == 0 && (to%groupSize == 0 || to == len(c.places))
}

// cost estimates a value in Miller loops: the final exponentiation and the Miller loop of the sum
// are about three, and eight terms of the sum are about one.
func (c *chunk) cost(from, to int) int {
	cost := 3 + (to-from)/8
	if !c.grouped(from, to) {
		cost += to - from
	}
	return cost
}

// middle is the index at which a range is halved: between two groups if the range has several.
func middle(from, to int) int {
	half := (to - from) / 2
	if to-from > groupSize {
		half = (half + groupSize - 1) / groupSize * groupSize
	}
	return from + half
}

// bisect finds the bad entries of a range that has some; whole is the range's value. The value of
// one half tells whether the other is good, because whole is the product of both.
func (c *chunk) bisect(from, to int, whole *blst.Fp12) {
	if to-from == 1 {
		c.verdicts[c.places[from]] = ErrMismatch
		return
	}
	middle := middle(from, to)
	if c.budget -= c.cost(from, middle); c.budget < 0 {
		c.verifyEach(from, to)
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
		if c.budget -= c.cost(middle, to); c.budget < 0 {
			c.verifyEach(middle, to)
			return
		}
		c.bisect(middle, to, c.value(middle, to))
	}
}

func (c *chunk) verifyEach(from, to int) {
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
