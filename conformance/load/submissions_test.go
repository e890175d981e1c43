package load

import (
	"slices"
	"testing"
)

// A builder's bids rise, but for those who cancel: they bid a turn ahead and then a turn back. Each
// block is that of as many builders as the setting says, in one format.
func TestPlan(t *testing.T) {
	s := Setting{Builders: 6, Cancelling: 2, SameBlock: 3, Formats: []Format{"ssz", "json"}}
	blocks := map[int][]int{} // of each builder
	users := map[int]map[int]bool{}
	for n := range 6 * 4 {
		p := s.plan(n)
		if p.cancels != (p.builder < 2) || p.format != s.Formats[p.block%2] {
			t.Errorf("submission %d is %+v", n, p)
		}
		if users[p.block] == nil {
			users[p.block] = map[int]bool{}
		}
		users[p.block][p.builder] = true
		blocks[p.builder] = append(blocks[p.builder], p.block)
	}
	first, later := []int{2, 0, 6, 4}, []int{1, 3, 5, 7}
	for builder, want := range [][]int{first, first, {0, 2, 4, 6}, later, later, later} {
		if !slices.Equal(blocks[builder], want) {
			t.Errorf("builder %d submits the blocks %v, want %v", builder, blocks[builder], want)
		}
	}
	for block, by := range users {
		if len(by) != 3 {
			t.Errorf("block %d is submitted by %d builders, want 3", block, len(by))
		}
	}
}

func TestSettingIsChecked(t *testing.T) {
	right := Setting{Builders: 4, Cancelling: 1, SameBlock: 2, BlockKB: []int{2}, Formats: Formats, Batch: 10}
	if err := right.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Setting){
		"no builder":                 func(s *Setting) { s.Builders = 0 },
		"more cancel than there are": func(s *Setting) { s.Cancelling = 5 },
		"nobody submits a block":     func(s *Setting) { s.SameBlock = 0 },
		"more blobs than there is":   func(s *Setting) { s.Blobs = 4 }, "no size": func(s *Setting) { s.BlockKB = nil },
		"a huge block":       func(s *Setting) { s.BlockKB = []int{1201} },
		"an unknown format":  func(s *Setting) { s.Formats = []Format{"xml"} },
		"an empty request":   func(s *Setting) { s.Batch = 0 },
		"no format":          func(s *Setting) { s.Formats = nil },
		"a huge request":     func(s *Setting) { s.Batch = 501 },
		"a negative size":    func(s *Setting) { s.BlockKB = []int{-1} },
		"too many builders":  func(s *Setting) { s.Builders = 10_001 },
		"less than no blobs": func(s *Setting) { s.Blobs = -1 },
	} {
		wrong := right
		if spoil(&wrong); wrong.Check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
