package scenarios

import (
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Plan is one scenario, checked, with all defaults filled in. Durations are chain time.
type Plan struct {
	// Name is the file's name without its ending; Why is the paragraph that says what the scenario
	// shows.
	Name, Why string
	// Slots is how many slots run, from slot 1 on. Slot is the length of a slot in whole seconds.
	// Speed is how many times faster than wall time the chain runs.
	Slots int
	Slot  time.Duration
	Speed float64
	Seed  uint64
	// Forks is the fork schedule; it begins at epoch 0.
	SlotsPerEpoch int
	Forks         []eth.ForkPoint
	// Validators is how many validators propose in turn. TxsPerSlot is how many transactions users
	// send in a slot. BlobEvery n sends a blob in every n-th slot; 0 sends none.
	Validators, TxsPerSlot, BlobEvery int

	Relays    []RelayPlan
	Builders  []BuilderPlan
	Proposers []ProposerPlan
	Users     []UserPlan
	Searchers []SearcherPlan
	// Breaker is the circuit breaker of the proposers' client. Only a restart of the beacon node
	// closes it.
	Breaker   devnet.BreakerLimits
	Latencies []Latency
	Faults    []Fault
	// Monitor starts a relay monitor, which watches all relays from public data.
	Monitor bool
	// Payer starts an agent that pays the delayed refunds of users' friend, because builders do not
	// pay these.
	Payer  bool
	Expect []Expectation
	// Vary are the parameters in which variants differ. Chosen are their values in this plan, nil
	// if nothing varies.
	Vary   []Parameter
	Chosen Choice

	source  source
	without []pair // the values that Without puts in place of others
}

// RelayPlan is a relay. Relays are named relay-1, relay-2 and so on.
type RelayPlan struct {
	Name string
	// Behaviour is "honest", or the name of a fault class that a monitor can find: a dishonest
	// relay then takes the relay's place.
	Behaviour string
	// HeaderCutOff and PayloadCutOff are how late into the slot the relay still serves a header or
	// a payload; zero leaves that to the relay.
	HeaderCutOff, PayloadCutOff time.Duration
	// InstanceOf is the name of the relay of which this is one more instance: both have its key and
	// its journal, and so one auction. Empty is a relay of its own.
	InstanceOf string
	// JournalNodes is how many servers the cluster of its journal has: 3 or 5. 0 is a journal of one
	// server.
	JournalNodes int
	// Optimistic are the builders whose bids count before they are validated.
	Optimistic []string
	Key        bool
}

// BuilderPlan is a builder and what it does.
type BuilderPlan struct {
	Name     string
	Strategy []Move
	// Key marks a builder whose strategy the scenario is about: Without gives it another one.
	Key bool
}

// ProposerPlan says what the proposers of some slots do; those of the others are honest.
type ProposerPlan struct {
	Slots    Range
	Strategy []Move
	Key      bool
}

// UserPlan is a user of the bundle RPC.
type UserPlan struct {
	Name     string
	Strategy []Move
	Key      bool
}

// SearcherPlan is a searcher that listens to hints and sends bundles.
type SearcherPlan struct {
	Name     string
	Strategy []Move
	Key      bool
}

// Move is one element of a strategy, or a kind of fault: an entry of the catalogue with its
// operands.
type Move struct {
	// Form is the form of the catalogue's entry, such as "bluff VALUE until TIME"; operands are in
	// capitals.
	Form string
	// The operands that the form has; the others are zero.
	ValueWei *uint256.Int
	Percent  float64
	Time     time.Duration // TIME: relative to the slot's start, negative before it. DURATION: a span
	Count    int
	Name     string // a check, a condition, a relay, a builder, a class of faults
}

// Latency delays what flows on a link, in each direction.
type Latency struct {
	On   Link
	Time time.Duration
}

// Link is a connection on which From sends requests to To. An empty From means everybody.
type Link struct{ From, To string }

func (l Link) String() string {
	if l.From == "" {
		return l.To
	}
	return l.From + " -> " + l.To
}

// Fault is something that breaks at From and is mended at Until. A zero From means before the run
// begins, a zero Until means never.
type Fault struct {
	What        Move
	On          Link
	From, Until Moment
	Key         bool
}

// Moment is a slot and an offset from its start. The zero moment means that none is given.
type Moment struct {
	Slot   int
	Offset time.Duration
}

// Range is a range of slots, both ends included; the zero range means all slots.
type Range struct{ First, Last int }

// Has says whether a slot is in the range.
func (r Range) Has(slot int) bool { return r == Range{} || slot >= r.First && slot <= r.Last }

// Parameter is a name that a plan writes as $name, with the values that it takes in turn.
type Parameter struct {
	Name   string
	Values []string
}

// Choice is one value for each parameter, in their order.
type Choice []Setting

// Setting is a parameter with its value.
type Setting struct{ Name, Value string }
