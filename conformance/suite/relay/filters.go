package relay

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// Combinations of the filters of the Data API's lists. A filter has the value of one of two
// submissions, of the other one, or is left out; so a query may be fit by both, by one or by none.

const (
	ofOne   = "one"
	ofOther = "other"
)

// listFilters are the filters of a list, by the members of traces that they have to be.
var listFilters = []string{"slot", "block_hash", "block_number", "builder_pubkey", "proposer_pubkey"}

// valueOf is the value of a member in the trace of a submission.
func (s *submission) valueOf(member string) string {
	switch member {
	case "slot":
		return strconv.FormatUint(s.Message.Slot, 10)
	case "block_hash":
		return s.Message.BlockHash.String()
	case "block_number":
		return strconv.FormatUint(s.ExecutionPayload.BlockNumber, 10)
	case "builder_pubkey":
		return s.Message.BuilderPubkey.String()
	default:
		return s.Message.ProposerPubkey.String()
	}
}

// filterPlan is the plan of a list with these filters. Values of limit and order_by that say
// nothing are left out, as filters are.
func filterPlan(filters []string, orders ...string) suite.Covering {
	var factors []suite.Factor
	for _, name := range filters {
		factors = append(factors, suite.Factor{Name: name, Values: []string{absent, ofOne, ofOther}})
	}
	factors = append(factors, suite.Factor{Name: "limit", Values: []string{absent, "1", "2"}})
	if len(orders) > 0 {
		factors = append(factors, suite.Factor{Name: "order_by", Values: append([]string{absent}, orders...)})
	}
	return suite.Pairwise(factors, func(c suite.Combination) bool {
		counts := map[string]int{}
		for _, value := range c[:len(filters)] {
			counts[value]++
		}
		// Without a filter the list has what other specs caused, and its page may end before ours. With
		// two filters that contradict the others, a target could ignore one of them unseen.
		return counts[absent] < len(filters) && (counts[ofOther] <= 1 || counts[ofOne] == 0)
	})
}

// listCase is a case of a plan of filters.
type listCase struct {
	filters    map[string]string // values by members
	limit      int               // 0 without one
	order      string
	query      string
	one, other *submission
}

func listCaseOf(plan suite.Covering, values suite.Combination, one, other *submission) listCase {
	c := listCase{filters: map[string]string{}, one: one, other: other}
	query := url.Values{}
	for i, value := range values {
		name := plan.Factors[i].Name
		switch {
		case value == absent:
			continue
		case name == "limit":
			c.limit, _ = strconv.Atoi(value) // the values of filterPlan are numbers
		case name == "order_by":
			c.order = value
		case value == ofOne:
			value = one.valueOf(name)
			c.filters[name] = value
		default:
			value = other.valueOf(name)
			c.filters[name] = value
		}
		query.Set(name, value)
	}
	c.query = query.Encode()
	return c
}

// fits says whether a submission fits all filters.
func (c listCase) fits(s *submission) bool {
	for name, value := range c.filters {
		if !strings.EqualFold(s.valueOf(name), value) {
			return false
		}
	}
	return true
}

// judge fails the spec unless the list is what the case asks for.
func (c listCase) judge(t *suite.T, path string) {
	list := traces(t, path, c.query)
	t.Check(c.limit == 0 || len(list) <= c.limit, fmt.Sprintf("at most %d entries for %s", c.limit, c.query), len(list))
	var hashes []string
	for i, trace := range list {
		for name, value := range c.filters {
			t.Check(strings.EqualFold(text(t, trace, name), value), fmt.Sprintf("%s %s for %s", name, value, c.query),
				trace[name])
		}
		hashes = append(hashes, strings.ToLower(text(t, trace, "block_hash")))
		if i > 0 && c.order != "" {
			before, err := uint256.FromDecimal(text(t, list[i-1], "value"))
			t.Check(err == nil, "a value", list[i-1]["value"])
			this, err := uint256.FromDecimal(text(t, trace, "value"))
			t.Check(err == nil, "a value", trace["value"])
			inOrder := !before.Gt(this)
			if strings.HasPrefix(c.order, "-") {
				inOrder = !before.Lt(this)
			}
			t.Check(inOrder, "values in the order of "+c.query, before.Dec()+" before "+this.Dec())
		}
	}
	for _, s := range []*submission{c.one, c.other} {
		is := slices.Contains(hashes, strings.ToLower(s.valueOf("block_hash")))
		t.Check(c.fits(s) || !is, "no entry of "+s.valueOf("block_hash")+" for "+c.query, "one")
		t.Check(!c.fits(s) || is || c.limit > 0 && len(list) == c.limit,
			"the entry of "+s.valueOf("block_hash")+" for "+c.query, "none")
	}
}

// judgeFilters judges all cases of a plan on two submissions that are listed.
func judgeFilters(t *suite.T, path string, plan suite.Covering, one, other *submission) {
	for _, values := range plan.Cases {
		listCaseOf(plan, values, one, other).judge(t, path)
	}
	t.RecordPlan(plan, plan.Cases)
}

// describeFilterCombinations adds specs about the filters of the Data API's lists, each pair of
// their values.
func describeFilterCombinations(r *specs) {
	delivered := filterPlan(listFilters, "value", "-value")
	received := filterPlan(listFilters[:4])
	r.It("REL-CMB-05", "lists deliveries that fit all filters", func(t *suite.T) {
		_, one := r.prepareDeliveredFor(t, 2000)
		_, other := r.prepareDeliveredFor(t, 1000)
		judgeFilters(t, deliveredPath, delivered, one, other)
	})
	r.It("REL-CMB-06", "lists received blocks that fit all filters", func(t *suite.T) {
		var blocks []*submission
		for range 2 {
			a := r.open(t)
			s := a.prepareSubmitted(a.block("a", gwei(1000)))
			t.Ready(waitListed(t, receivedPath, "block_hash="+s.Message.BlockHash.String()), "see the received block")
			blocks = append(blocks, s)
		}
		judgeFilters(t, receivedPath, received, blocks[0], blocks[1])
	})
}
