package relay

import (
	"fmt"
	"slices"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// describeGloasDuties adds specs about whom a relay lists from gloas on.
func describeGloasDuties(r *specs) {
	r.It("GLO-DUT-01", "lists a proposer with what it prefers", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{})
		duties, err := listDuties(t)
		t.Check(err == nil, "a list of proposers", err)
		number := fmt.Sprint(uint64(a.slot.Slot))
		i := slices.IndexFunc(duties, func(d duty) bool { return d.Slot == number })
		t.Check(i >= 0 && duties[i].Entry != nil && duties[i].Entry.Message != nil, "an entry of slot "+number, duties)
		got, target := duties[i].Entry.Message, world.GasTarget(int(a.slot.ValidatorIndex))
		t.Check(got.Pubkey == a.proposer.Public, "the proposer's key", got.Pubkey)
		t.Check(got.FeeRecipient == a.feeRecipient, "fee_recipient "+a.feeRecipient.String(), got.FeeRecipient)
		t.Check(got.GasLimit == target, fmt.Sprintf("gas_limit %d", target), got.GasLimit)
	})
	r.It("GLO-DUT-01", "does not list a proposer without preferences", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Kind: world.Stranger})
		duties, err := listDuties(t)
		t.Check(err == nil, "a list of proposers", err)
		number := fmt.Sprint(uint64(a.slot.Slot))
		t.Check(!slices.ContainsFunc(duties, func(d duty) bool { return d.Slot == number }), "no entry of slot "+number,
			"there is one")
	})
}
