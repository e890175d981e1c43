package app

import (
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/scenarios"
)

// moves is a strategy as a plan writes it. Its methods translate it for the devnet's agents.
type moves []scenarios.Move

// find returns the first move that begins with a word.
func (m moves) find(word string) (scenarios.Move, bool) {
	i := slices.IndexFunc(m, func(one scenarios.Move) bool { return one.Is(word) })
	if i < 0 {
		return scenarios.Move{}, false
	}
	return m[i], true
}

func (m moves) has(word string) bool {
	_, ok := m.find(word)
	return ok
}

// naiveBids is how many bids a builder makes in a slot if its plan gives no number.
const naiveBids = 3

// bidding returns the strategy of a builder with these moves.
func (m moves) bidding() builder.Strategy {
	bids := naiveBids
	if m.has("stake") {
		bids = 1 // the network takes one bid of a builder in a slot
	}
	if move, ok := m.find("bids"); ok {
		bids = move.Count
	}
	base := m.base(bids)
	back := builder.TakingBack{Strategy: base}
	for _, move := range m {
		switch {
		case move.Form == "cancel at TIME":
			back.At = &move.Time
		case move.Is("cancel"):
			back.WhenLeading = back.WhenLeading || move.Name == "leading"
			back.WhenOutbid = back.WhenOutbid || move.Name == "outbid"
		}
	}
	if back.At == nil && !back.WhenLeading && !back.WhenOutbid {
		return base
	}
	return back
}

// base returns how a builder bids, without cancellations. If several moves say so, the last one
// counts.
func (m moves) base(bids int) builder.Strategy {
	for _, move := range slices.Backward(m) {
		switch {
		case move.Is("adaptive"):
			return builder.Adaptive{StepWei: move.ValueWei}
		case move.Is("last-minute"):
			return builder.LastMinute{When: move.Time}
		case move.Is("bluff"):
			return builder.Bluff{ValueWei: move.ValueWei, Until: move.Time}
		case move.Is("stealth"):
			return builder.Stealth{Until: move.Time}
		case move.Is("fixed"):
			return builder.Fixed{ValueWei: move.ValueWei}
		case move.Is("shade"):
			return builder.Rising{Bids: bids, From: (100 - move.Percent) / 2, To: 100 - move.Percent}
		case move.Is("naive"):
			return builder.Rising{Bids: bids, From: 50, To: 90}
		}
	}
	return builder.Rising{Bids: bids, From: 50, To: 90}
}

// conduct returns in which ways a builder breaks the rules.
func (m moves) conduct() builder.Conduct {
	c := builder.Conduct{Replay: m.has("replay"), Stubborn: m.has("stubborn"), Exit: m.has("exit")}
	for _, move := range m {
		switch {
		case move.Form == "withhold":
			c.Withhold = true
		case move.Form == "withhold blobs":
			c.WithholdBlobs = true
		case move.Is("reveal"):
			c.RevealAt = move.Time
		case move.Is("cheat"):
			c.Cheats = append(c.Cheats, builder.Cheat(move.Name))
		case move.Is("burst"):
			c.Burst = move.Count
		case move.Is("stall"):
			c.Stall = move.Time
		}
	}
	return c
}

// trading returns the strategy of a user, or of a searcher that sends bundles of its own.
func (m moves) trading() user.Strategy {
	s := user.Strategy{Fast: m.has("fast"), Hide: m.has("hide")}
	for _, move := range m {
		switch {
		case move.Is("public"):
			s.Sends = user.SendPublic
		case move.Is("conflict"):
			s.Sends = user.SendConflict
		case move.Is("delay"):
			s.Sends = user.SendDelayed
		case move.Is("split"):
			s.SplitPercent = int(move.Percent)
		case move.Is("cancel"):
			s.CancelAfter = move.Time
		case move.Is("exclusive"):
			s.Exclusive = move.Name
		case move.Is("chatter"):
			s.Chatter = move.Count
		}
	}
	return s
}

// proposing returns what the sidecar does for the proposer of a slot.
func (m moves) proposing() proposer.Conduct {
	c := proposer.Conduct{
		Local: m.has("local"), Silent: m.has("silent"), Unbundle: m.has("unbundle"), Replay: m.has("replay"),
		Withhold: m.has("withhold"), StaleAuth: m.has("stale auth"), Unheard: m.has("unheard"),
		Contradict: m.has("contradict"),
	}
	for _, move := range m {
		switch {
		case move.Is("request"):
			c.RequestAt = move.Time
		case move.Is("submit"):
			c.SubmitAt = move.Time
		case move.Is("cap", "count"):
			gwei := gweiOf(move.ValueWei)
			c.MaxPayment, c.Secret = &gwei, move.Is("count")
		case move.Is("minimum bid"):
			c.MinBid = gweiOf(move.ValueWei)
		case move.Is("boost"):
			boost := uint64(move.Percent)
			c.Boost = &boost
		case move.Is("repeat"):
			c.Requests = move.Count
		case move.Is("equivocate"):
			c.Equivocate, c.EquivocateAt = true, move.Time
		}
	}
	return c
}

// gweiOf rounds down, and stops at the highest value that there is.
func gweiOf(wei *uint256.Int) phase0.Gwei {
	gwei := new(uint256.Int).Div(wei, uint256.NewInt(1_000_000_000))
	if !gwei.IsUint64() {
		return ^phase0.Gwei(0)
	}
	return phase0.Gwei(gwei.Uint64())
}

// stakesOf returns what the builders of a plan have staked at genesis.
func stakesOf(plans []scenarios.BuilderPlan) (list []network.Stake) {
	for i, one := range plans {
		if move, ok := moves(one.Strategy).find("stake"); ok {
			list = append(list, network.Stake{Builder: i, Gwei: gweiOf(move.ValueWei)})
		}
	}
	return list
}

// conductOf returns the conduct in each slot; slots that the plan does not name are honest.
func conductOf(plans []scenarios.ProposerPlan) func(phase0.Slot) proposer.Conduct {
	return func(slot phase0.Slot) proposer.Conduct {
		for _, one := range plans {
			if one.Slots.Has(int(slot)) {
				return moves(one.Strategy).proposing()
			}
		}
		return proposer.Conduct{}
	}
}

// stormOf returns how many more times registrations are sent, in total.
func stormOf(plans []scenarios.ProposerPlan) (times int) {
	for _, one := range plans {
		for _, move := range one.Strategy {
			if move.Is("register") {
				times += move.Count
			}
		}
	}
	return times
}
