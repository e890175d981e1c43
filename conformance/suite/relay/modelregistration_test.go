package relay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// After a request that is right the newest is held. After one with something wrong in it, what was
// held or any of its newer right ones may be; what is forged never.
func TestBatchAfter(t *testing.T) {
	for _, row := range []struct {
		what     string
		batch    batch
		before   []int
		after    []int
		statuses []int
	}{
		{"a newer one", batch{{signing, 3}}, []int{1}, []int{3}, []int{200}},
		{"an older one", batch{{signing, 1}}, []int{3}, []int{3}, []int{200, 400}},
		{"the newer first", batch{{signing, 5}, {gasLimitOf, 4}}, []int{1}, []int{5}, []int{200, 400}},
		{"a forged newer one", batch{{signing, 3}, {forgedAt, 9}}, []int{1}, []int{1, 3}, []int{400}},
		{"nobody's beside two", batch{{signing, 3}, {ofNobody, 1}, {signing, 5}}, []int{1}, []int{1, 3, 5}, []int{400}},
		{"an older forged one", batch{{signing, 5}, {forgedAt, 4}}, []int{1}, []int{1, 5}, []int{200, 400}},
		{"another's", batch{{ofAnother, 9}}, []int{2}, []int{2}, []int{200}},
		{"a newer one, after what decides nothing", batch{{signing, 4}}, []int{1, 3, 5}, []int{4, 5}, []int{200, 400}},
	} {
		if got := row.batch.after(row.before); !slices.Equal(got, row.after) {
			t.Errorf("%s: %v may be held", row.what, got)
		}
		if got := row.batch.statuses(row.before); !slices.Equal(got, row.statuses) {
			t.Errorf("%s: statuses %v", row.what, got)
		}
	}
}

// Relays that keep the last one of a request, or the first one, are found by nearly every plan; a
// right one by none, whether it keeps what is right in a wrong request or not.
func TestRegistrationPlansShowWhatIsWrong(t *testing.T) {
	const plans = 200
	newest := func(held int, b batch) int {
		for _, e := range b {
			if e.ours() {
				held = max(held, e.age)
			}
		}
		return held
	}
	for _, row := range []struct {
		what  string
		least int
		keeps func(held int, b batch) int
	}{
		{"right", 0, newest},
		{"right, and takes nothing of a wrong request", 0, func(held int, b batch) int {
			if b.wrong() {
				return held
			}
			return newest(held, b)
		}},
		{"keeps the last that is newer", 150, func(held int, b batch) int {
			kept := held
			for _, e := range b {
				if e.ours() && e.age > held {
					kept = e.age
				}
			}
			return kept
		}},
		{"keeps the first that is newer", 150, func(held int, b batch) int {
			for _, e := range b {
				if e.ours() && e.age > held {
					return e.age
				}
			}
			return held
		}},
	} {
		shown := 0
		for seed := range uint64(plans) {
			held, may := 0, []int{0}
			for _, b := range registrationPlan(rand.New(rand.NewPCG(seed, 3)), registrationBatches) {
				if held, may = row.keeps(held, b), b.after(may); !slices.Contains(may, held) {
					shown++
					break
				}
				if !b.wrong() {
					may = []int{held}
				}
			}
		}
		if shown < row.least || row.least == 0 && shown > 0 {
			t.Errorf("%s: %d of %d plans show it", row.what, shown, plans)
		}
	}
}
