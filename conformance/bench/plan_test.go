package bench

import (
	"testing"
	"time"
)

func TestParseMix(t *testing.T) {
	kinds := []Kind{Submissions, Headers, Data}
	for _, row := range []struct{ text, want string }{
		{"submissions:60,headers:30", "submissions:60,headers:30"},
		{" headers:1 , data:0", "headers:1"},
		{"headers", ""}, {"headers:x", ""}, {"headers:-1", ""}, {"registrations:1", ""}, {"headers:0", ""}, {"", ""},
		{"headers:9999,data:2", ""}, {"headers:10001", ""},
	} {
		mix, err := ParseMix(row.text, kinds)
		if mix.String() != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%q: %s, %v; want %q", row.text, mix, err, row.want)
		}
	}
}

// Whatever part of the cycle is sent, each kind has about its share of it.
func TestCycle(t *testing.T) {
	order := UsualMix.Cycle()
	if len(order) != 100 {
		t.Fatalf("%d requests, want 100", len(order))
	}
	count := map[Kind]int{}
	for n, kind := range order {
		count[kind]++
		for _, share := range UsualMix {
			if even := float64(share.Weight) * float64(n+1) / 100; float64(count[share.Kind]) < even-1.5 ||
				float64(count[share.Kind]) > even+1.5 {
				t.Errorf("%d %s of the first %d, want about %.1f", count[share.Kind], share.Kind, n+1, even)
			}
		}
	}
	for _, share := range UsualMix {
		if count[share.Kind] != share.Weight {
			t.Errorf("%d %s, want %d", count[share.Kind], share.Kind, share.Weight)
		}
	}
}

func TestDue(t *testing.T) {
	for _, row := range []struct {
		perSecond float64
		n         int
		want      time.Duration
	}{{0, 7, 0}, {100, 0, 0}, {100, 250, 2500 * time.Millisecond}, {0.5, 1, 2 * time.Second}} {
		if got := (Phase{PerSecond: row.perSecond}).Due(row.n); got != row.want {
			t.Errorf("%v requests a second: the %dth after %v, want %v", row.perSecond, row.n, got, row.want)
		}
	}
}
