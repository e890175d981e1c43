package relay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The leader is the highest bid in force, whatever came before and after it; wrong blocks and what
// was cancelled never lead.
func TestLeading(t *testing.T) {
	ask := bidStep{kind: askingHeader}
	for _, row := range []struct {
		what  string
		steps []bidStep
		want  []int
	}{
		{"nothing", []bidStep{ask}, nil},
		{"only wrong ones", []bidStep{{forging, 0, 9}, {overstating, 1, 8}, {miscounting, 2, 7}}, nil},
		{"the highest", []bidStep{{bidding, 0, 5}, {bidding, 1, 7}, ask, {bidding, 2, 6}}, []int{1}},
		{"the higher of one builder", []bidStep{{bidding, 0, 5}, {bidding, 0, 4}}, []int{0}},
		{"equal ones", []bidStep{{bidding, 0, 5}, {bidding, 1, 5}, {bidding, 2, 4}}, []int{0, 1}},
		{"a cancelled one does not", []bidStep{{cancelling, 0, 9}, {bidding, 1, 5}, {cancelling, 0, 4}}, []int{1}},
		{"the last of a builder", []bidStep{{cancelling, 0, 9}, {cancelling, 0, 3}, {cancelling, 0, 6}}, []int{2}},
		{"not one that was cancelled by what is wrong", []bidStep{{cancelling, 0, 9}, {forging, 0, 3}}, []int{0}},
	} {
		if got := leading(row.steps); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v leads", row.what, got)
		}
	}
}

// Each of these relays is wrong in one way. At least so many plans ask at a moment that shows it,
// and no plan finds a right relay wrong. Binding plans say nothing of what specifications leave
// open.
func TestAuctionPlansShowWhatIsWrong(t *testing.T) {
	const plans = 200
	for _, row := range []struct {
		what    string
		binding bool
		least   int // of the plans
		serves  func(steps []bidStep) []int
	}{
		{"right", true, 0, leading},
		{"right", false, 0, leading},
		{"the last bid leads", true, 160, func(steps []bidStep) []int {
			for i, s := range slices.Backward(steps) {
				if s.isRight() {
					return []int{i}
				}
			}
			return nil
		}},
		{"single wei do not count", true, 100, func(steps []bidStep) []int {
			coarse := slices.Clone(steps)
			for i := range coarse {
				coarse[i].valueWei /= 1_000_000
			}
			return leading(coarse)[:min(1, len(leading(coarse)))]
		}},
		{"what is wrong leads", true, 100, func(steps []bidStep) []int {
			taken := slices.Clone(steps)
			for i := range taken {
				if taken[i].kind != askingHeader {
					taken[i].kind = bidding
				}
			}
			return leading(taken)
		}},
		{"cancellations are ignored", false, 60, func(steps []bidStep) []int {
			final := slices.Clone(steps)
			for i := range final {
				if final[i].kind == cancelling {
					final[i].kind = bidding
				}
			}
			return leading(final)
		}},
		{"a refusal silences a builder", true, 120, func(steps []bidStep) []int {
			silent := map[int]bool{}
			for _, s := range steps {
				silent[s.builder] = silent[s.builder] || s.kind != askingHeader && !s.isRight()
			}
			if all := leading(steps); len(all) > 0 && !silent[steps[all[0]].builder] {
				return all
			}
			return nil
		}},
		{"only the first builder cancels", false, 70, func(steps []bidStep) []int {
			final, first := slices.Clone(steps), -1
			for i, s := range steps {
				if s.kind == cancelling && first < 0 {
					first = s.builder
				}
				if s.kind == cancelling && s.builder != first {
					final[i].kind = bidding
				}
			}
			return leading(final)
		}},
	} {
		shown := 0
		for seed := range uint64(plans) {
			steps := auctionPlan(rand.New(rand.NewPCG(seed, 2)), auctionSteps, row.binding)
			wrong := false
			for i, s := range steps {
				if s.kind == askingHeader {
					want, got := leading(steps[:i]), row.serves(steps[:i])
					wrong = wrong || len(got) == 0 != (len(want) == 0) || len(got) > 0 && !slices.Contains(want, got[0])
				}
			}
			if wrong {
				shown++
			}
			if row.binding && len(leading(steps)) > 1 {
				t.Errorf("seed %d: a binding plan has two bids of one value", seed)
			}
		}
		if shown < row.least || row.least == 0 && shown > 0 {
			t.Errorf("%s, binding %t: %d of %d plans show it", row.what, row.binding, shown, plans)
		}
	}
}
