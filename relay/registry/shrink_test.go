package registry

import "testing"

// A table that has lost more than a tenth, or all, takes nobody's registration out of force, and
// its new validators count; the next whole one heals it.
func TestTableThatShrinksForgetsNobody(t *testing.T) {
	const many = 2 * leastNetwork
	r := New(nil, nil)
	all := madeValidators(many + 1)
	for _, step := range []struct {
		name                 string
		from, to, want, lack int
	}{
		{"the whole table", 0, many, many, 0},
		{"a few have left", 100, many, many - 100, 0},
		{"they are back", 0, many, many, 0},
		{"of a node that is not synced", 0, many / 2, many, many / 2},
		{"the same, with a new one", many / 2, many + 1, many + 1, many / 2},
		{"nobody at all", 0, 0, many + 1, many + 1},
		{"a whole one again", 1, many + 1, many, 0},
	} {
		if lack := r.SetValidators(all[step.from:step.to]); lack != step.lack || r.Validators() != step.want {
			t.Errorf("%s: %d are missing, %d known, want %d and %d", step.name, lack, r.Validators(), step.lack, step.want)
		}
	}
	small := New(nil, nil)
	small.SetValidators(all[:4])
	if small.SetValidators(all[:1]); small.Validators() != 1 {
		t.Errorf("%d known of a small network", small.Validators())
	}
}
