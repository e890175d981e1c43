package bench

import (
	"testing"
	"time"
)

// Two listeners and two orders: each must get each event once, in whatever order.
func TestCheckEvents(t *testing.T) {
	one, two, other := [32]byte{1}, [32]byte{2}, [32]byte{9}
	orders := []Shared{{one, 0}, {two, time.Second}}
	all := func(more ...Heard) []Heard {
		return append([]Heard{
			{0, two, time.Second + 3*time.Millisecond}, {0, one, 2 * time.Millisecond}, {1, one, time.Millisecond},
		}, more...)
	}
	last := Heard{1, two, time.Second + time.Millisecond}
	for name, c := range map[string]struct {
		heard                  []Heard
		gone                   map[int]bool
		lost, doubled, samples int
	}{
		"all":                             {all(last), nil, 0, 0, 4},
		"others too":                      {all(last, Heard{0, other, 0}), nil, 0, 0, 4},
		"one is lost":                     {all(), nil, 1, 0, 4},
		"the listener was cut before":     {all(), map[int]bool{1: true}, 0, 0, 3},
		"the other one was cut":           {all(), map[int]bool{0: true}, 1, 0, 4},
		"one comes twice":                 {all(last, last), nil, 0, 1, 4},
		"one comes thrice":                {all(last, last, last), nil, 0, 1, 4},
		"one twice to who was cut":        {all(last, last), map[int]bool{1: true}, 0, 1, 4},
		"nothing":                         {nil, nil, 4, 0, 4},
		"the same to two is not twice":    {all(last), nil, 0, 0, 4},
		"nothing, and everybody was gone": {nil, map[int]bool{0: true, 1: true}, 0, 0, 0},
	} {
		samples, found := CheckEvents(orders, c.heard, 2, c.gone)
		if found[0].Found != c.lost || found[1].Found != c.doubled || len(samples) != c.samples ||
			found[0].Checked != c.samples {
			t.Errorf("%s: %+v, %d samples", name, found, len(samples))
		}
	}
	samples, _ := CheckEvents(orders, all(last), 2, nil)
	for i, want := range []time.Duration{2, 1, 3, 1} {
		if s := samples[i]; s.Took != want*time.Millisecond || s.Kind != Events || !s.Good || s.At != orders[i/2].Sent {
			t.Errorf("sample %d: %+v", i, s)
		}
	}
	if samples, _ := CheckEvents(orders, nil, 2, nil); samples[0].Good || samples[0].Status != 0 {
		t.Errorf("a lost event: %+v", samples[0])
	}
}
