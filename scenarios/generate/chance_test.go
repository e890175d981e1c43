package generate

import (
	"testing"
	"time"
)

// What somebody draws depends on seed, slot and name, and not on what others draw.
func TestDraws(t *testing.T) {
	first := func(seed, slot uint64, who string) uint64 {
		c := chance{seed: seed}
		c.begin(slot)
		c.of("somebody else").Uint64()
		return c.of(who).Uint64()
	}
	one := drawsOf(1, 2, "me").Uint64()
	if first(1, 2, "me") != one {
		t.Error("the draws of others change mine")
	}
	for name, other := range map[string]uint64{
		"seed": first(2, 2, "me"), "slot": first(1, 3, "me"), "name": first(1, 2, "you"),
	} {
		if other == one {
			t.Errorf("another %s gives the same", name)
		}
	}
}

// A tail has about the mean that it is asked for, and sometimes much more.
func TestTail(t *testing.T) {
	const mean, draws = 10 * time.Millisecond, 10_000
	r := drawsOf(1, 1, "tail")
	var sum, longest time.Duration
	for range draws {
		one := tail(r, mean)
		if one < 0 || one != one.Truncate(time.Microsecond) {
			t.Fatalf("drawn %v", one)
		}
		sum, longest = sum+one, max(longest, one)
	}
	if got := sum / draws; got < 9*time.Millisecond || got > 12*time.Millisecond || longest < 5*mean {
		t.Errorf("mean %v, longest %v", got, longest)
	}
}

func TestMicros(t *testing.T) {
	r := drawsOf(1, 1, "even")
	for range 1000 {
		if one := micros(r, -2*time.Millisecond, time.Millisecond); one < -2*time.Millisecond || one >= time.Millisecond ||
			one != one.Truncate(time.Microsecond) {
			t.Fatalf("drawn %v", one)
		}
	}
}
