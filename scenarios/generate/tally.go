package generate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Tally counts rows, and what came of what they tell of.
type Tally struct {
	rows map[string]int
	// ends count by table and words for how something ended.
	ends map[[2]string]int
}

// Add counts rows.
func (t *Tally) Add(rows *Rows) {
	if t.rows == nil {
		t.rows, t.ends = map[string]int{}, map[[2]string]int{}
	}
	for row := range rows.All() {
		var table, end string
		switch row := row.(type) {
		case *dataset.Bid:
			table, end = "bids", endOfBid(row)
		case *dataset.Delivery:
			table, end = "deliveries", "paid as promised"
			if row.PaidWei != row.ValueWei {
				end = "paid otherwise than promised"
			}
		case *dataset.Registration:
			table = "registrations"
		case *dataset.Request:
			table, end = "requests", strings.TrimSpace(fmt.Sprintf("%s %s %s", row.Kind, row.Outcome, row.Refusal))
		case *dataset.Slot:
			table, end = "slots", strings.TrimSuffix(fmt.Sprintf("%s: %s", row.Outcome, row.Because), ": ")
		case *dataset.Stage:
			table, end = "stages", fmt.Sprintf("%s %s", row.Request, row.Stage)
		case *dataset.Order:
			table, end = "orders", fmt.Sprintf("%s %s", row.Kind, row.State)
		case *dataset.Transaction:
			table, end = "transactions", map[bool]string{true: "in a block", false: "in no block"}[row.IncludedBlock.Known]
		}
		t.rows[table]++
		if end != "" {
			t.ends[[2]string{table, end}]++
		}
	}
}

// endOfBid says what became of a bid.
func endOfBid(b *dataset.Bid) string {
	switch {
	case b.Kind == dataset.HeaderPoll:
		return "header that was served"
	case b.Refusal != "":
		return "refused: " + string(b.Refusal)
	case !b.EligibleAt.Known && !b.Optimistic.Known:
		return "no effect: no transactions or no value"
	case !b.EligibleAt.Known:
		return "at or below the floor"
	case b.Optimistic.V && !b.Verified.V:
		return "counted, and was then found invalid"
	case b.Optimistic.V:
		return "counted at once, and was then found valid"
	}
	return "counted when it was found valid"
}

// Rows is how many rows a table has.
func (t *Tally) Rows(table string) int { return t.rows[table] }

func (t *Tally) markdown() string {
	var out strings.Builder
	out.WriteString("| table | rows |\n|---|---|\n")
	for _, table := range dataset.Tables {
		fmt.Fprintf(&out, "| `%s` | %d |\n", table.TableName(), t.rows[table.TableName()])
	}
	out.WriteString("\n| table | what came of it | rows |\n|---|---|---|\n")
	for _, key := range slices.SortedFunc(maps.Keys(t.ends), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(t.ends[b], t.ends[a]), cmp.Compare(a[1], b[1]))
	}) {
		fmt.Fprintf(&out, "| `%s` | %s | %d |\n", key[0], key[1], t.ends[key])
	}
	return out.String()
}
