package plan

import (
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/breaker"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Plan is one scenario, checked, with every default in place. Durations are chain time.
type Plan struct {
	// Name is the file's name without its ending; Why is the paragraph that says what the scenario
	// shows.
	Name, Why string
	// Slots is how many slots run, from slot 1 on; Slot is the length of one in whole seconds, Speed
	// how many times faster than the wall.
	Slots int
	Slot  time.Duration
	Speed float64
	Seed  uint64
	// SlotsPerEpoch and Forks: the schedule begins at epoch 0.
	SlotsPerEpoch int
	Forks         []eth.ForkPoint
	// Validators propose in turn; TxsPerSlot are the transactions that users send in a slot, BlobEvery
	// n sends a blob in each n-th.
	Validators, TxsPerSlot, BlobEvery int

	Relays    []RelayPlan
	Builders  []BuilderPlan
	Proposers []ProposerPlan
	Users     []UserPlan
	Searchers []SearcherPlan
	// Breaker is the circuit breaker of the proposers' client. Only a restart of the beacon node
	// closes it.
	Breaker   breaker.Limits
	Latencies []Latency
	Faults    []Fault
	// Monitor starts a relay monitor, which watches all relays from public data.
	Monitor bool
	// Payer starts somebody who pays the delayed refunds of users' friend, which builders do not.
	Payer  bool
	Expect []Expectation
	// Vary are the values that variants differ in; Chosen are the ones of this plan, nil where nothing
	// varies.
	Vary   []Parameter
	Chosen Choice

	source  source
	without []pair // what Without puts in place of keys
}

// RelayPlan is a relay: relay-1, relay-2 …
type RelayPlan struct {
	Name string
	// Behaviour is "honest", or the name of a fault class that a monitor can find: then a dishonest
	// relay stands in its place.
	Behaviour string
	// PayloadCutOff is how late into the slot a payload is asked for at the latest, HeaderCutOff the
	// same for headers; zero is the relay's own.
	HeaderCutOff, PayloadCutOff time.Duration
	// Optimistic are the builders whose bids count before they are validated.
	Optimistic []string
	Key        bool
}

// BuilderPlan is a builder and what it does.
type BuilderPlan struct {
	Name     string
	Strategy []Move
	// Key marks the builder whose strategy the scenario is about: Without makes it naive.
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

// SearcherPlan is a searcher who listens to hints and sends bundles.
type SearcherPlan struct {
	Name     string
	Strategy []Move
	Key      bool
}

// Move is one element of a strategy, or a kind of fault: a form of the catalogue with its operands.
type Move struct {
	// Form is the catalogue's entry, such as "bluff VALUE until TIME"; operands are in capitals there.
	Form string
	// Operands, as far as the form has them.
	ValueWei *uint256.Int
	Percent  float64
	Time     time.Duration // TIME: against the slot's start, negative is before it. DURATION: a span
	Count    int
	Name     string // a check, a condition, a relay, a builder, a class of faults
}

// Latency delays what flows on a link, one way.
type Latency struct {
	On   Link
	Time time.Duration
}

// Link is a connection: From asks To. An empty From is everybody.
type Link struct{ From, To string }

func (l Link) String() string {
	if l.From == "" {
		return l.To
	}
	return l.From + " -> " + l.To
}

// Fault is something that breaks at From and is mended at Until. The zero From is before anything
// happens, the zero Until is never.
type Fault struct {
	What        Move
	On          Link
	From, Until Moment
	Key         bool
}

// Moment is a slot and an offset from its start. The zero moment is none.
type Moment struct {
	Slot   int
	Offset time.Duration
}

// Range is some slots, both ends included; the zero range is all.
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
