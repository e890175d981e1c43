package mutant

import (
	"net/http"
	"strconv"
	"strings"
)

// missedMutants returns the mutants that stop when slots are missed, as a client's circuit breaker
// does.
func missedMutants() []Mutant {
	return []Mutant{
		{"relay-serves-no-bid-after-two-missed-slots", "relay", "serves no bid after two missed slots",
			[]string{"REL-GEN-08"}, stopAfterMissed(2)},
		{"relay-serves-no-bid-after-five-missed-slots", "relay", "serves no bid after five missed slots",
			[]string{"REL-GEN-08"}, stopAfterMissed(5)},
	}
}

// stopAfterMissed is a fault by which there is no bid for a slot if so many slots before it are
// empty. It learns of them from the submissions: those with the same parent are for slots in a row.
func stopAfterMissed(missed uint64) func() Fault {
	return func() Fault {
		first, parents := map[string]uint64{}, map[string]string{}
		return Fault{Answer: func(e *Exchange) {
			slot, _, _ := submitted(e.Asked)
			number, err := strconv.ParseUint(slot, 10, 64)
			switch {
			case e.on(submitPath) && e.Status < 300 && err == nil:
				parent, _ := at(e.asked(), "execution_payload")["parent_hash"].(string)
				if parents[slot] = parent; first[parent] == 0 {
					first[parent] = number
				}
			case e.on(headerPath) && e.Status == http.StatusOK:
				slot, _, _ = strings.Cut(strings.TrimPrefix(e.Request.URL.Path, headerPath), "/")
				number, err = strconv.ParseUint(slot, 10, 64)
				if begun := first[parents[slot]]; err == nil && begun != 0 && number >= begun+missed {
					e.say(http.StatusNoContent, "", "")
				}
			}
		}}
	}
}
