package generate

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"time"
)

// chance draws whatever is random. What somebody draws in a slot depends on seed, slot and name
// alone, so that one more draw of one party changes nothing for the others.
type chance struct {
	seed, slot uint64
	drawn      map[string]*rand.Rand
}

// begin begins the draws of a slot.
func (c *chance) begin(slot uint64) {
	c.slot, c.drawn = slot, map[string]*rand.Rand{}
}

// of returns the draws of somebody in the slot that runs.
func (c *chance) of(who string) *rand.Rand {
	if c.drawn[who] == nil {
		c.drawn[who] = drawsOf(c.seed, c.slot, who)
	}
	return c.drawn[who]
}

// drawsOf returns the draws of somebody in a slot. Slot 0 has those that hold for the whole run.
func drawsOf(seed, slot uint64, who string) *rand.Rand {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, slot), who...))
	return rand.New(rand.NewPCG(seed, binary.BigEndian.Uint64(sum[:])))
}

// micros draws a time evenly, to the microsecond.
func micros(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(max(int64((to-from)/time.Microsecond), 1)))*time.Microsecond
}

// tail draws a time that is short mostly and long sometimes: each further seven tenths of the mean
// are half as probable as those before. It uses no floating-point numbers, whose last digits may
// differ between processors.
func tail(r *rand.Rand, mean time.Duration) time.Duration {
	step := mean / time.Microsecond * 7 / 10
	steps := time.Duration(bits.TrailingZeros64(r.Uint64() | 1<<maxSteps))
	return (steps*step + time.Duration(r.Int64N(int64(step)+1))) * time.Microsecond
}

// maxSteps bounds what tail draws.
const maxSteps = 12

// happens says whether something happens that happens in so many of a thousand cases.
func happens(r *rand.Rand, perMille int) bool { return r.IntN(1000) < perMille }
