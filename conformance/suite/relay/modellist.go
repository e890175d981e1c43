package relay

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// The model of the Data API's lists. It knows what the suite itself has submitted and had
// delivered, and predicts for any query which of it is listed, in which order, and with which
// members. Lists also have what others did at the relay; of that only the order is predicted.

// traced is what a list must say of one submission of the suite.
type traced struct {
	slot     uint64
	valueWei *uint256.Int
	members  map[string]string // text, by names of relay-specs
	// fromMs and toMs are the milliseconds since 1970 between which the submission came.
	fromMs, toMs int64
}

// parameter is one parameter of a query.
type parameter struct{ name, value string }

// String implements fmt.Stringer.
func (p parameter) String() string { return p.name + "=" + p.value }

// queryOf is the query string of parameters.
func queryOf(query []parameter) string {
	words := make([]string, len(query))
	for i, p := range query {
		words[i] = p.String()
	}
	return strings.Join(words, "&")
}

// listModel predicts the answers of one list.
type listModel struct {
	path string
	ours []traced
	// deployed asks also for what deployed relays do and relay-specs leave open: the order without
	// order_by, and num_tx and block_number.
	deployed bool
}

// the members that a trace must have by relay-specs, and the clauses that ask for them.
var tracedMembers = map[string]string{
	"slot": "REL-DAT-26", "parent_hash": "REL-DAT-26", "block_hash": "REL-DAT-26", "builder_pubkey": "REL-DAT-26",
	"proposer_pubkey": "REL-DAT-26", "proposer_fee_recipient": "REL-DAT-26", "gas_limit": "REL-DAT-26",
	"gas_used": "REL-DAT-26", "value": "REL-DAT-28",
}

// and those that deployed relays add.
var deployedMembers = map[string]string{"num_tx": "REL-DAT-24", "block_number": "REL-DAT-24"}

// filterClauses are the clauses of the parameters of deliveries.
var filterClauses = map[string]string{
	"slot": "REL-DAT-03", "block_hash": "REL-DAT-04", "block_number": "REL-DAT-05", "builder_pubkey": "REL-DAT-06",
	"proposer_pubkey": "REL-DAT-06", "cursor": "REL-DAT-08",
}

// fits says whether a parameter lets the submission be listed.
func (s traced) fits(p parameter) bool {
	switch p.name {
	case "limit", "order_by":
		return true
	case "cursor":
		last, err := strconv.ParseUint(p.value, 10, 64)
		return err == nil && s.slot <= last
	default:
		return strings.EqualFold(s.members[p.name], p.value)
	}
}

// position is the place of an entry in an order; entries of one position may stand in any order.
type position struct {
	slot     uint64
	valueWei *uint256.Int
}

// before compares two positions in the order of a query; 0 if either may come first.
func (m listModel) before(order string, a, b position) int {
	switch order {
	case "value":
		return a.valueWei.Cmp(b.valueWei)
	case "-value":
		return b.valueWei.Cmp(a.valueWei)
	}
	if !m.deployed {
		return 0
	}
	return cmp.Compare(b.slot, a.slot)
}

// confining says whether only submissions of the suite fit, because no other spec's have the
// value: plans are made in slots that nobody else has.
func (m listModel) confining(p parameter) bool {
	if p.name == "slot" {
		return slices.ContainsFunc(m.ours, func(s traced) bool { return s.fits(p) })
	}
	return p.name == "block_hash" || p.name == "builder_pubkey"
}

// judge compares a list with what the query must be answered. It returns nil if it is that.
func (m listModel) judge(query []parameter, list []map[string]any) *suite.Mismatch {
	limit, order, confined := 0, "", false
	for _, p := range query {
		switch p.name {
		case "limit":
			limit, _ = strconv.Atoi(p.value) // the values of plans are numbers
		case "order_by":
			order = p.value
		}
		confined = confined || m.confining(p)
	}
	if limit > 0 && len(list) > limit {
		return wrongList("REL-DAT-07", fmt.Sprintf("at most %d entries", limit), len(list))
	}
	found, positions, wrong := m.read(query, list, confined)
	if wrong != nil {
		return wrong
	}
	for i := 1; i < len(positions); i++ {
		if m.before(order, positions[i-1], positions[i]) > 0 {
			return wrongList(orderClause(order), "entries in the order "+order, fmt.Sprintf("%s of slot %d before %s of slot %d",
				positions[i-1].valueWei.Dec(), positions[i-1].slot, positions[i].valueWei.Dec(), positions[i].slot))
		}
	}
	full := len(list) > 0 && (limit > 0 && len(list) == limit || limit == 0 && !confined)
	for i, s := range m.ours {
		if slices.Contains(found, i) || slices.ContainsFunc(query, func(p parameter) bool { return !s.fits(p) }) {
			continue
		}
		own := position{s.slot, s.valueWei}
		if !full || (order != "" || m.deployed) && m.before(order, own, positions[len(positions)-1]) < 0 {
			return wrongList("REL-CMB-05", "an entry of block "+s.members["block_hash"],
				"none, in a list of "+fmt.Sprint(len(list)))
		}
	}
	return nil
}

// orderClause is the clause of an order.
func orderClause(order string) string {
	if order == "" {
		return "REL-DAT-08"
	}
	return "REL-DAT-21"
}

// wrongList is a mismatch at a query.
func wrongList(clause, expected string, actual any) *suite.Mismatch {
	return &suite.Mismatch{Clauses: []string{clause}, Expected: expected, Actual: actual}
}

// read compares each entry with the submission that it is about. It returns the places of these
// submissions, and the positions of all entries.
func (m listModel) read(query []parameter, list []map[string]any,
	confined bool) (found []int, positions []position, wrong *suite.Mismatch) {
	for _, entry := range list {
		slot, err := strconv.ParseUint(fmt.Sprint(entry["slot"]), 10, 64)
		value, bad := uint256.FromDecimal(fmt.Sprint(entry["value"]))
		if err != nil || bad != nil {
			return nil, nil, wrongList("REL-DAT-20", "slot and value in decimal digits",
				fmt.Sprint(entry["slot"], entry["value"]))
		}
		positions = append(positions, position{slot, value})
		at := slices.IndexFunc(m.ours, func(s traced) bool {
			return strings.EqualFold(s.members["block_hash"], fmt.Sprint(entry["block_hash"])) &&
				strings.EqualFold(s.members["builder_pubkey"], fmt.Sprint(entry["builder_pubkey"]))
		})
		switch {
		case at < 0 && confined:
			return nil, nil, wrongList(filterClause(query), "no entry but of the suite's own", fmt.Sprint(entry["block_hash"]))
		case at < 0:
			continue
		case slices.Contains(found, at):
			return nil, nil, wrongList("REL-CMB-05", "each entry once", "twice "+fmt.Sprint(entry["block_hash"]))
		}
		found = append(found, at)
		for _, p := range query {
			if !m.ours[at].fits(p) {
				return nil, nil, wrongList(filterClauses[p.name], "no entry that does not fit "+p.String(),
					fmt.Sprintf("slot %s, block %s", m.ours[at].members["slot"], m.ours[at].members["block_hash"]))
			}
		}
		if wrong = m.ours[at].compare(entry, m.deployed); wrong != nil {
			return nil, nil, wrong
		}
	}
	return found, positions, nil
}

// filterClause is the clause of the first filter of a query.
func filterClause(query []parameter) string {
	for _, p := range query {
		if clause, is := filterClauses[p.name]; is {
			return clause
		}
	}
	return "REL-CMB-05"
}

// compare compares an entry with what it must say, member by member.
func (s traced) compare(entry map[string]any, deployed bool) *suite.Mismatch {
	for _, clauses := range []map[string]string{tracedMembers, deployedMembers} {
		for member, want := range s.members {
			clause, asked := clauses[member]
			if got, is := entry[member].(string); asked && (!is || !strings.EqualFold(got, want)) {
				return wrongList(clause, fmt.Sprintf("%s %q of block %s", member, want, s.members["block_hash"]),
					fmt.Sprintf("%v", entry[member]))
			}
		}
		if !deployed {
			break
		}
	}
	if s.toMs == 0 {
		return nil
	}
	text, _ := entry["timestamp_ms"].(string)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < s.fromMs || ms > s.toMs || entry["timestamp"] != strconv.FormatInt(ms/1000, 10) {
		return wrongList("REL-DAT-15", fmt.Sprintf("timestamp_ms from %d to %d, and timestamp in seconds", s.fromMs, s.toMs),
			fmt.Sprint(entry["timestamp_ms"], " and ", entry["timestamp"]))
	}
	return nil
}

// plan makes random queries. Names are the filters of the list; cursor goes with no slot.
func (m listModel) plan(random *rand.Rand, queries int, names []string, orders []string) (plan [][]parameter) {
	for range queries {
		var query []parameter
		about := m.ours[random.IntN(len(m.ours))]
		chosen := map[string]bool{}
		for _, name := range names {
			value := about.members[name]
			if random.IntN(5) == 0 { // of another one, so that often nothing fits
				value = m.ours[random.IntN(len(m.ours))].members[name]
			}
			if name == "cursor" {
				value = strconv.FormatUint(about.slot+uint64(random.IntN(3))-1, 10)
			}
			if random.IntN(4) > 0 || name == "cursor" && chosen["slot"] {
				continue
			}
			chosen[name] = true
			query = append(query, parameter{name, value})
		}
		if len(query) == 0 {
			query = append(query, parameter{"builder_pubkey", about.members["builder_pubkey"]})
		}
		if random.IntN(2) == 0 {
			query = append(query, parameter{"limit", strconv.Itoa(1 + random.IntN(3))})
		}
		if len(orders) > 0 && random.IntN(2) == 0 {
			query = append(query, parameter{"order_by", orders[random.IntN(len(orders))]})
		}
		random.Shuffle(len(query), func(i, j int) { query[i], query[j] = query[j], query[i] })
		plan = append(plan, query)
	}
	return plan
}
