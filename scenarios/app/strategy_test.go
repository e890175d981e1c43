package app

import (
	"reflect"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/scenarios"
)

// Each row is what a plan says of a builder, and how it bids.
func TestBidding(t *testing.T) {
	wei, early := uint256.NewInt(7), -time.Second
	form := func(form string) scenarios.Move {
		return scenarios.Move{Form: form, ValueWei: wei, Percent: 10, Time: early, Count: 5}
	}
	leading, outbid := form("cancel when CONDITION"), form("cancel when CONDITION")
	leading.Name, outbid.Name = "leading", "outbid"
	for _, c := range []struct {
		says moves
		want builder.Strategy
	}{
		{moves{form("naive")}, builder.Rising{Bids: 3, From: 50, To: 90}},
		{moves{form("only RELAY")}, builder.Rising{Bids: 3, From: 50, To: 90}},
		{moves{form("naive"), form("bids COUNT")}, builder.Rising{Bids: 5, From: 50, To: 90}},
		{moves{form("stake VALUE")}, builder.Rising{Bids: 1, From: 50, To: 90}},
		{moves{form("shade PERCENT")}, builder.Rising{Bids: 3, From: 45, To: 90}},
		{moves{form("adaptive +VALUE")}, builder.Adaptive{StepWei: wei}},
		{moves{form("last-minute at TIME")}, builder.LastMinute{When: early}},
		{moves{form("bluff VALUE until TIME")}, builder.Bluff{ValueWei: wei, Until: early}},
		{moves{form("stealth until TIME")}, builder.Stealth{Until: early}},
		{moves{form("naive"), form("fixed VALUE")}, builder.Fixed{ValueWei: wei}},
		{moves{form("fixed VALUE"), leading}, builder.TakingBack{Strategy: builder.Fixed{ValueWei: wei}, WhenLeading: true}},
		{moves{form("fixed VALUE"), outbid}, builder.TakingBack{Strategy: builder.Fixed{ValueWei: wei}, WhenOutbid: true}},
		{moves{form("fixed VALUE"), form("cancel at TIME")}, builder.TakingBack{Strategy: builder.Fixed{ValueWei: wei},
			At: &early}},
	} {
		if got := c.says.bidding(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, want %+v", c.says, got, c.want)
		}
	}
	cheat := scenarios.Move{Form: "cheat CHECK", Name: "value"}
	want := builder.Conduct{Cheats: []builder.Cheat{"value"}, Burst: 5, Replay: true, Stall: early}
	got := moves{cheat, form("burst COUNT"), form("replay"), form("stall DURATION")}.conduct()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Each row is what a plan says of a builder with stake, and what it does with its payloads.
func TestConductOfStakedBuilders(t *testing.T) {
	for says, want := range map[string]builder.Conduct{
		"stake VALUE": {}, "withhold": {Withhold: true}, "withhold blobs": {WithholdBlobs: true},
		"reveal at TIME": {RevealAt: time.Second}, "exit": {Exit: true}, "stubborn": {Stubborn: true},
	} {
		if got := (moves{{Form: says, Time: time.Second}}).conduct(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", says, got, want)
		}
	}
}

// Stakes are in whole Gwei, of the builders that have one; a value that no stake can be is the
// highest that there is.
func TestStakes(t *testing.T) {
	stake := func(wei *uint256.Int) []scenarios.Move { return []scenarios.Move{{Form: "stake VALUE", ValueWei: wei}} }
	got := stakesOf([]scenarios.BuilderPlan{
		{Strategy: []scenarios.Move{{Form: "naive"}}}, {Strategy: stake(uint256.NewInt(5_999_999_999))},
		{Strategy: stake(new(uint256.Int).Not(new(uint256.Int)))},
	})
	want := []network.Stake{{Builder: 1, Gwei: 5}, {Builder: 2, Gwei: ^phase0.Gwei(0)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Each row is what a plan says of a proposer's terms in gloas.
func TestTermsOfProposers(t *testing.T) {
	gwei, boost := phase0.Gwei(7), uint64(40)
	for says, want := range map[string]proposer.Conduct{
		"cap VALUE": {MaxPayment: &gwei}, "count VALUE": {MaxPayment: &gwei, Secret: true},
		"minimum bid VALUE": {MinBid: 7}, "boost PERCENT": {Boost: &boost}, "stale auth": {StaleAuth: true},
		"unheard": {Unheard: true}, "withhold": {Withhold: true},
	} {
		move := scenarios.Move{Form: says, ValueWei: uint256.NewInt(7_000_000_001), Percent: 40}
		if got := (moves{move}).proposing(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", says, got, want)
		}
	}
}

// Every check that a plan may name is one that a builder knows to break.
func TestCheatsAreKnown(t *testing.T) {
	for _, name := range scenarios.Checks {
		if !builder.Cheat(name).Known() {
			t.Errorf("builders do not know how to cheat at %s", name)
		}
	}
}

// Each row is what a plan says of a user or a searcher, and what it sends.
func TestTrading(t *testing.T) {
	form := func(form string) scenarios.Move {
		return scenarios.Move{Form: form, Percent: 40, Time: time.Second, Count: 2, Name: "builder-2"}
	}
	for _, c := range []struct {
		says string
		want user.Strategy
	}{
		{"private", user.Strategy{}},
		{"public", user.Strategy{Sends: user.SendPublic}},
		{"fast", user.Strategy{Fast: true}},
		{"hide", user.Strategy{Hide: true}},
		{"split PERCENT", user.Strategy{SplitPercent: 40}},
		{"cancel after DURATION", user.Strategy{CancelAfter: time.Second}},
		{"chatter COUNT", user.Strategy{Chatter: 2}},
		{"exclusive BUILDER", user.Strategy{Exclusive: "builder-2"}},
		{"conflict", user.Strategy{Sends: user.SendConflict}},
		{"delay refund", user.Strategy{Sends: user.SendDelayed}},
	} {
		if got := (moves{form(c.says)}).trading(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.says, got, c.want)
		}
	}
}

// Proposers do in a slot what the first plan says that has it; the others are honest.
func TestConductOfSlots(t *testing.T) {
	form := func(form string) scenarios.Move { return scenarios.Move{Form: form, Time: time.Second, Count: 3} }
	plans := []scenarios.ProposerPlan{
		{Slots: scenarios.Range{First: 2, Last: 3}, Strategy: []scenarios.Move{form("request at TIME"),
			form("submit at TIME"),
			form("repeat COUNT")}},
		{Slots: scenarios.Range{First: 3, Last: 3}, Strategy: []scenarios.Move{form("local"), form("register COUNT")}},
		{Slots: scenarios.Range{First: 4, Last: 4}, Strategy: []scenarios.Move{form("equivocate at TIME"), form("unbundle"),
			form("replay"), form("silent")}},
	}
	timed := proposer.Conduct{RequestAt: time.Second, SubmitAt: time.Second, Requests: 3}
	want := []proposer.Conduct{
		{}, timed, timed, {Equivocate: true, EquivocateAt: time.Second, Unbundle: true, Replay: true, Silent: true}, {},
	}
	for i, conduct := range want {
		if got := conductOf(plans)(1 + phase0.Slot(i)); got != conduct {
			t.Errorf("slot %d: %+v, want %+v", i+1, got, conduct)
		}
	}
	if got := stormOf(plans); got != 3 {
		t.Errorf("registrations are sent %d more times, want 3", got)
	}
}
