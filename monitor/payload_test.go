package monitor

import (
	"errors"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Each row is a slot of gloas in which relay a, of builder 3, or somebody else has done something.
// What is found is written as the party, the class and the beginning of the detail.
func TestJudgePayload(t *testing.T) {
	one, two := phase0.Hash32{1}, phase0.Hash32{2}
	three := gloas.BuilderIndex(3)
	sold := func(builder gloas.BuilderIndex, full bool) *Sold {
		return &Sold{Builder: builder, Hash: one, ValueWei: uint256.NewInt(9), Full: full}
	}
	listing := func(hash phase0.Hash32, value uint64) ListingRelay {
		return ListingRelay{Name: "a", Builder: &three, Listed: []Delivered{{hash, uint256.NewInt(value)}}}
	}
	silent := ListingRelay{Name: "a", Builder: &three}
	stranger := ListingRelay{Name: "b"}
	for name, c := range map[string]struct {
		over PastPayload
		want string
	}{
		"good":                {PastPayload{Sold: sold(3, true), Relays: []ListingRelay{listing(one, 9), stranger}}, ""},
		"no block":            {PastPayload{Relays: []ListingRelay{silent, stranger}}, ""},
		"the proposer's own":  {PastPayload{Sold: sold(gloas.SelfBuild, true), Relays: []ListingRelay{silent}}, ""},
		"another builder's":   {PastPayload{Sold: sold(4, true), Relays: []ListingRelay{silent, stranger}}, ""},
		"withheld by a relay": {PastPayload{Sold: sold(3, false), Relays: []ListingRelay{stranger, silent}}, "a withheld"},
		"withheld by the proposer": {PastPayload{Sold: sold(gloas.SelfBuild, false), Relays: []ListingRelay{silent}},
			"proposer withheld"},
		"withheld by a builder": {PastPayload{Sold: sold(4, false), Relays: []ListingRelay{silent, stranger}},
			"builder 4 withheld"},
		"not revealed to a proposer of two blocks": {PastPayload{Sold: sold(3, false), Equivocated: true,
			Relays: []ListingRelay{silent}}, "proposer equivocation"},
		"two blocks, and none on the chain": {PastPayload{Equivocated: true, Relays: []ListingRelay{silent}},
			"proposer equivocation"},
		"not listed": {PastPayload{Sold: sold(3, true), Relays: []ListingRelay{silent, stranger}}, "a unlisted-delivery"},
		"listed by another relay": {PastPayload{Sold: sold(3, true), Relays: []ListingRelay{silent,
			{Name: "b", Listed: listing(one, 9).Listed}}}, ""},
		"listed, no block": {PastPayload{Relays: []ListingRelay{listing(one, 9)}}, "a listed-unlanded"},
		"listed, another's": {PastPayload{Sold: sold(4, true), Relays: []ListingRelay{listing(two, 9)}},
			"a listed-unlanded"},
		"listed for less": {PastPayload{Sold: sold(3, true), Relays: []ListingRelay{listing(one, 8)}}, "a value"},
		"listed for more": {PastPayload{Sold: sold(3, true), Relays: []ListingRelay{listing(one, 10)}}, ""},
		"listed though withheld": {PastPayload{Sold: sold(3, false), Relays: []ListingRelay{listing(one, 9)}},
			"a listed-unlanded; a withheld"},
		"the list is not there": {PastPayload{Sold: sold(3, true), Relays: []ListingRelay{{Name: "a", Builder: &three,
			ListErr: errors.New("503")}}}, "a unavailable"},
	} {
		c.over.Slot, c.over.Proposer = 7, validator.PublicKey()
		var words []string
		for _, one := range JudgePayload(c.over) {
			party := one.Relay
			switch {
			case one.Proposer != nil && *one.Proposer == validator.PublicKey():
				party = "proposer"
			case one.Builder != nil && *one.Builder == 4:
				party = "builder 4"
			}
			words = append(words, party+" "+string(one.Class))
			if one.Slot != 7 || one.Detail == "" {
				t.Errorf("%s: %+v", name, one)
			}
		}
		if got := strings.Join(words, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
