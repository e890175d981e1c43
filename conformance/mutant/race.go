package mutant

import (
	"net/http"

	"github.com/holiman/uint256"
)

// raceMutants returns the mutants that lose bids of several builders.
func raceMutants() []Mutant {
	return []Mutant{
		{"relay-first-of-blocks-at-once-counts", "relay",
			"of blocks that come at once the first one counts, and all are answered with 200",
			[]string{"REL-SUB-41"}, func() Fault {
				busy := 0
				return Fault{
					Ask: func(e *Exchange) bool {
						if !e.on(submitPath) {
							return false
						}
						if busy++; busy > 1 {
							return e.say(http.StatusOK, "", "")
						}
						return false
					},
					Answer: func(e *Exchange) {
						if e.on(submitPath) {
							busy--
						}
					},
				}
			}},
		{"relay-forgets-bids-that-do-not-lead", "relay",
			"forgets a bid that does not lead, so that a cancellation leads to a lower one",
			[]string{"REL-SUB-33"}, func() Fault {
				best, leader := map[string]*uint256.Int{}, map[string]string{}
				return Fault{Ask: func(e *Exchange) bool {
					slot, builder, _ := submitted(e.Asked)
					text, _ := at(e.asked(), "message")["value"].(string)
					value, err := uint256.FromDecimal(text)
					if !e.on(submitPath) || err != nil {
						return false
					}
					if best[slot] != nil && value.Lt(best[slot]) && leader[slot] != builder {
						return e.say(http.StatusOK, "", "")
					}
					best[slot], leader[slot] = value, builder
					return false
				}}
			}},
	}
}
