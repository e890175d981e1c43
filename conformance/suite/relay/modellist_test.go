package relay

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/holiman/uint256"
)

// story is six deliveries of two builders, two of them of one value.
func story() (list []traced) {
	for i := range 6 {
		value := uint256.NewInt(uint64(1_000_000_000_000_000_000 + i/2*7))
		slot := uint64(10 + i)
		list = append(list, traced{slot: slot, valueWei: value, members: map[string]string{
			"slot": strconv.FormatUint(slot, 10), "parent_hash": fmt.Sprintf("0xa%d", i), "block_hash": fmt.Sprintf("0xb%d", i),
			"builder_pubkey": fmt.Sprintf("0xc%d", i%2), "proposer_pubkey": fmt.Sprintf("0xd%d", i%3),
			"proposer_fee_recipient": fmt.Sprintf("0xe%d", i%3), "gas_limit": "60000000", "gas_used": "21000",
			"value": value.Dec(), "num_tx": "1", "block_number": strconv.Itoa(5 + i),
		}})
	}
	return list
}

// answer answers a query as it must be: from the model's own submissions, and one of somebody else
// in each slot above them.
func (m listModel) answer(query []parameter) []map[string]any {
	var fitting []traced
	order, limit := "", 0
	all := slices.Clone(m.ours)
	if !slices.ContainsFunc(query, m.confining) {
		for i := range 3 {
			other := m.ours[0]
			other.members = maps.Clone(other.members)
			other.slot = uint64(30 + i)
			other.members["slot"], other.members["block_hash"] = strconv.Itoa(30+i), fmt.Sprintf("0xf%d", i)
			other.members["builder_pubkey"] = "0xff"
			all = append(all, other)
		}
	}
	for _, s := range all {
		if !slices.ContainsFunc(query, func(p parameter) bool { return !s.fits(p) }) {
			fitting = append(fitting, s)
		}
	}
	for _, p := range query {
		switch p.name {
		case "order_by":
			order = p.value
		case "limit":
			limit, _ = strconv.Atoi(p.value)
		}
	}
	deployed := m
	deployed.deployed = true
	slices.SortStableFunc(fitting, func(a, b traced) int {
		return deployed.before(order, position{a.slot, a.valueWei}, position{b.slot, b.valueWei})
	})
	list := []map[string]any{}
	for _, s := range fitting {
		if limit > 0 && len(list) == limit {
			break
		}
		entry := map[string]any{}
		for member, value := range s.members {
			entry[member] = value
		}
		list = append(list, entry)
	}
	return list
}

// modelOf makes a model of deliveries and a plan of queries.
func modelOf(deployed bool, seed uint64) (listModel, [][]parameter) {
	m := listModel{path: deliveredPath, ours: story(), deployed: deployed}
	names := []string{"slot", "block_hash", "block_number", "builder_pubkey", "proposer_pubkey"}
	if deployed {
		names = append(names, "cursor")
	}
	return m, m.plan(rand.New(rand.NewPCG(seed, 1)), modelQueries, names, []string{"value", "-value"})
}

// A list that is right is never found to be wrong, whatever is asked.
func TestListModelTakesWhatIsRight(t *testing.T) {
	for seed := range uint64(200) {
		for _, deployed := range []bool{false, true} {
			m, plan := modelOf(deployed, seed)
			for _, query := range plan {
				if wrong := m.judge(query, m.answer(query)); wrong != nil {
					t.Fatalf("%s: %+v", queryOf(query), wrong)
				}
			}
		}
	}
}

// Each of these lists is wrong in one way, and nearly every plan has a query that shows it, with
// the clause that is broken.
func TestListModelNoticesWhatIsWrong(t *testing.T) {
	without := func(name, beside string) func(m listModel, query []parameter) []map[string]any {
		return func(m listModel, query []parameter) []map[string]any {
			if beside == "" || slices.ContainsFunc(query, func(p parameter) bool { return p.name == beside }) {
				query = slices.DeleteFunc(slices.Clone(query), func(p parameter) bool { return p.name == name })
			}
			return m.answer(query)
		}
	}
	changed := func(change func(entry map[string]any)) func(m listModel, query []parameter) []map[string]any {
		return func(m listModel, query []parameter) []map[string]any {
			list := m.answer(query)
			for _, entry := range list {
				change(entry)
			}
			return list
		}
	}
	for _, row := range []struct {
		what     string
		deployed bool
		clause   string
		answer   func(m listModel, query []parameter) []map[string]any
	}{
		{"limit is ignored beside order_by", false, "REL-DAT-07", without("limit", "order_by")},
		{"proposer_pubkey is ignored beside builder_pubkey", false, "REL-DAT-06",
			without("proposer_pubkey", "builder_pubkey")},
		{"order_by is ignored beside builder_pubkey", false, "REL-DAT-21", without("order_by", "builder_pubkey")},
		{"order_by is ignored beside limit", false, "REL-DAT-21", without("order_by", "limit")},
		{"cursor is ignored beside proposer_pubkey", true, "REL-DAT-08", without("cursor", "proposer_pubkey")},
		{"the wei are cut off", false, "REL-DAT-28", changed(func(entry map[string]any) {
			if text, _ := entry["value"].(string); len(text) > 9 {
				entry["value"] = text[:len(text)-1] + "0"
			}
		})},
		{"gas used is the limit", false, "REL-DAT-26", changed(func(entry map[string]any) {
			entry["gas_used"] = entry["gas_limit"]
		})},
		{"num_tx is missing", true, "REL-DAT-24", changed(func(entry map[string]any) { delete(entry, "num_tx") })},
		{"one is listed twice", false, "REL-CMB-05", func(m listModel, query []parameter) []map[string]any {
			list := m.answer(query)
			if len(list) > 1 && len(query) == 1 {
				list = append(list, list[len(list)-1])
			}
			return list
		}},
		{"the oldest slot comes first", true, "REL-DAT-08", func(m listModel, query []parameter) []map[string]any {
			list := m.answer(query)
			if len(query) == 1 {
				slices.Reverse(list)
			}
			return list
		}},
	} {
		missed := 0
		for seed := range uint64(20) {
			m, plan := modelOf(row.deployed, seed)
			var clauses []string
			for _, query := range plan {
				if wrong := m.judge(query, row.answer(m, query)); wrong != nil {
					clauses = append(clauses, wrong.Clauses...)
				}
			}
			if !slices.Contains(clauses, row.clause) {
				missed++
			}
		}
		if missed > 2 {
			t.Errorf("%s: %d plans of 20 do not show it", row.what, missed)
		}
	}
}
