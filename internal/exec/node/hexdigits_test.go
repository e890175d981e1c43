package node

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// The digits are the standard library's: of all pairs of bytes, at any length around the one from
// which vectors write them, and wherever value and digits begin. Nothing is written beside them.
func TestDigits(t *testing.T) {
	const vector, beside = 32, 0xee // bytes of a vector; what stands before and after the digits
	check := func(value []byte, offset int) {
		t.Helper()
		room := bytes.Repeat([]byte{beside}, offset+2*len(value)+vector)
		want := bytes.Clone(room)
		hex.Encode(want[offset:], value)
		encode(room[offset:], value)
		if !bytes.Equal(room, want) {
			t.Fatalf("%d bytes have other digits if they are written %d bytes into a buffer", len(value), offset)
		}
	}
	pairs := make([]byte, 0, 2<<16)
	for i := range 1 << 16 {
		pairs = append(pairs, byte(i), byte(i>>8))
	}
	check(pairs, 0)
	check(pairs[1:], 1)

	random := rand.New(rand.NewPCG(1, 2))
	from := make([]byte, 1024)
	for i := range from {
		from[i] = byte(random.Uint32())
	}
	for length := range 2*worthVectors + vector {
		for offset := range vector {
			check(from[offset:offset+length], (offset*7+length)%vector)
			check(from[offset:offset+length:offset+length], offset)
		}
	}
}
