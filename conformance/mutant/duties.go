package mutant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/conformance/world"
)

// dutiesMutants returns the mutants of a relay's list of proposers.
func dutiesMutants() []Mutant {
	return []Mutant{
		{"relay-duties-list-every-slot-twice", "relay", "duties list every slot twice", []string{"REL-DUT-01"},
			document(dutiesPath, func(d any) any {
				list, _ := d.([]any)
				return append(list, list...)
			})},
		{"relay-duties-have-wrong-signatures", "relay", "duties have wrong signatures", []string{"REL-DUT-02"},
			document(dutiesPath, func(d any) any {
				list, _ := d.([]any)
				for i := range list {
					at(list[i], "entry", "message")["gas_limit"] = "1"
				}
				return d
			})},
		{"relay-duties-name-other-validators", "relay", "duties name other validators", []string{"REL-DUT-05"},
			document(dutiesPath, func(d any) any {
				list, _ := d.([]any)
				for i := range list {
					object(list[i])["validator_index"] = "77"
				}
				return d
			})},
		{"relay-duties-are-object", "relay", "duties are an object", []string{"REL-DUT-04"}, document(dutiesPath,
			func(d any) any {
				return map[string]any{"data": d}
			})},
		{"relay-duties-reach-far-ahead", "relay", "duties reach far ahead", []string{"REL-DUT-06"}, document(dutiesPath,
			func(d any) any {
				list, _ := d.([]any)
				if len(list) == 0 {
					return d
				}
				far := map[string]any{"slot": "999999", "validator_index": "1", "entry": object(list[0])["entry"]}
				return append(list, far)
			})},
		{"relay-duties-have-one-slot-of-next-epoch", "relay", "duties have one slot of the next epoch",
			[]string{"REL-DUT-01"}, document(dutiesPath,
				func(d any) any {
					list, _ := d.([]any)
					const slotsPerEpoch = 8 // as worlds have by default
					var newest uint64
					epochOf := func(entry any) uint64 {
						slot, _ := object(entry)["slot"].(string)
						number, _ := strconv.ParseUint(slot, 10, 64) // a list of the target's, which is right
						return number / slotsPerEpoch
					}
					for _, entry := range list {
						newest = max(newest, epochOf(entry))
					}
					had := false
					return slices.DeleteFunc(list, func(entry any) bool {
						of := epochOf(entry) == newest
						drop := of && had
						had = had || of
						return drop
					})
				})},
		{"relay-duties-name-who-never-registered", "relay", "duties name who never registered", []string{"REL-DUT-03"},
			document(dutiesPath, func(d any) any {
				list, _ := d.([]any)
				if len(list) == 0 {
					return d
				}
				key := world.StrangerKey()
				message := map[string]any{"fee_recipient": "0x" + strings.Repeat("00", 20), "gas_limit": "1", "timestamp": "1",
					"pubkey": fmt.Sprintf("%#x", key[:])}
				entry := map[string]any{"message": message, "signature": "0x" + strings.Repeat("00", 96)}
				return append(list, map[string]any{"slot": "1", "validator_index": "7", "entry": entry})
			})},
	}
}
