package archive

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Every filter that the Data API documents, in every order that it offers, alone and with a slot:
// an index finds the first row and leads to the next. None reads a whole table, and none sorts but
// what an equality has found.
func TestFiltersUseAnIndex(t *testing.T) {
	a := open(t)
	slot := new(phase0.Slot(5))
	hash, number, key := new(fill(1)), new(uint64(1005)), &phase0.BLSPubKey{1}
	filters := map[string]relay.TraceQuery{
		"all": {}, "slot": {Slot: slot}, "cursor": {Cursor: slot}, "block_hash": {BlockHash: hash},
		"block_number":    {BlockNumber: number},
		"proposer_pubkey": {Proposer: key}, "builder_pubkey": {Builder: key}, "slot+builder_pubkey": {Slot: slot,
			Builder: key},
		"cursor+builder_pubkey": {Cursor: slot, Builder: key}, "cursor+proposer_pubkey": {Cursor: slot, Proposer: key},
		"slot+block_hash": {Slot: slot, BlockHash: hash}, "slot+facts": {Slot: slot, After: 7, UpTo: 9},
		"block_number+proposer_pubkey": {BlockNumber: number, Proposer: key},
	}
	orders := map[string][]relay.Order{
		"delivered": {relay.Newest, relay.ValueAscending, relay.ValueDescending},
		"received":  {relay.Newest}, // has no order_by, no cursor and no proposer_pubkey, and needs a filter
	}
	for table, orders := range orders {
		for name, query := range filters {
			if table == "received" && (name == "all" || query.Cursor != nil || query.Proposer != nil) {
				continue
			}
			for _, order := range orders {
				t.Run(fmt.Sprintf("%s/%s/order=%v", table, name, order), func(t *testing.T) {
					query.Order, query.Limit = order, 200
					if wrong := wrongWith(plan(t, a, table, query), query); wrong != "" {
						t.Error(wrong)
					}
				})
			}
		}
	}
}

// plan is what SQLite is going to do, a line for each step.
func plan(t *testing.T, a *Archive, table string, q relay.TraceQuery) []string {
	t.Helper()
	query, args := tracesQuery(table, q)
	var steps []string
	err := a.projection.Each(t.Context(), func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil || len(steps) == 0 {
		t.Fatalf("no plan: %v", err)
	}
	return steps
}

// wrongWith says what a plan does that it must not.
func wrongWith(steps []string, q relay.TraceQuery) string {
	found := steps[0]
	// Walking an index in the order of the answer stops at the limit: that is no reading of the whole
	// table.
	walks := strings.HasPrefix(found, "SCAN") && strings.Contains(found, "USING INDEX") && len(steps) == 1
	equality := strings.HasPrefix(found, "SEARCH") && strings.Contains(found, "=?")
	ranged := strings.HasPrefix(found, "SEARCH") && len(steps) == 1
	// what has one of them is a handful of rows
	few := q.Slot != nil || q.BlockHash != nil || q.BlockNumber != nil || q.Proposer != nil
	switch {
	case walks, ranged, equality && (len(steps) == 1 || few):
		return ""
	}
	return "reads or sorts too much:\n" + strings.Join(steps, "\n")
}
