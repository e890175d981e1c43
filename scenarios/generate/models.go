package generate

import "time"

// Model is a part of the world that is made up, in words for readers of the data.
type Model struct{ Name, Doc string }

// span is a time that is drawn evenly.
type span struct{ from, to time.Duration }

// The times of messages and work. Each is drawn anew every time.
var (
	gossip     = span{20 * time.Millisecond, 90 * time.Millisecond}   // a block on its way to others
	toRPC      = span{15 * time.Millisecond, 80 * time.Millisecond}   // a user's or searcher's request
	simulation = span{800 * time.Microsecond, 4 * time.Millisecond}   // of an order at the RPC
	orderTaken = span{8 * time.Millisecond, 45 * time.Millisecond}    // an order on its way to a builder
	hintHeard  = span{10 * time.Millisecond, 60 * time.Millisecond}   // a hint on its way to a searcher
	thinking   = span{2 * time.Millisecond, 30 * time.Millisecond}    // of a searcher
	building   = span{15 * time.Millisecond, 70 * time.Millisecond}   // of a block
	toProposer = span{15 * time.Millisecond, 80 * time.Millisecond}   // a request or an answer between proposer and relay
	signing    = span{5 * time.Millisecond, 45 * time.Millisecond}    // of a block by its proposer
	localBuild = span{100 * time.Millisecond, 350 * time.Millisecond} // a block of the proposer's own node
	seen       = span{100 * time.Millisecond, 2 * time.Second}        // until a collector sees what a relay lists
)

// The durations of a relay's stages.
var (
	receiving = span{300 * time.Microsecond, 3 * time.Millisecond}
	decoding  = span{200 * time.Microsecond, 1500 * time.Microsecond}
	checking  = span{900 * time.Microsecond, 2 * time.Millisecond}
	executing = span{3 * time.Millisecond, 25 * time.Millisecond} // and 1 ms for each 100,000 gas
	enteringA = span{100 * time.Microsecond, 1500 * time.Microsecond}
	verifying = span{900 * time.Microsecond, 2 * time.Millisecond}
	finding   = span{100 * time.Microsecond, 4 * time.Millisecond}
	guarding  = span{500 * time.Microsecond, 8 * time.Millisecond}
	publishes = span{40 * time.Millisecond, 300 * time.Millisecond}
)

const (
	// cutOff is how far into its slot a relay takes a signed block.
	cutOff = 4 * time.Second
	// missedAt is when all know that a slot is missed.
	missedAt = 4500 * time.Millisecond
	// executesLate is when in its slot a relay begins to execute bids that counted at once.
	executesLate = 4200 * time.Millisecond
)

// Models are what is made up.
var Models = []Model{
	{"messages and work", "How long messages travel, and how long building, signing and simulating take, is " +
		"drawn evenly between two bounds. A builder's way to a relay has a fixed part and a tail. The machine " +
		"that generates the data has no influence. Builders wait for an answer before they send their next bid, " +
		"but for `builder-6`."},
	{"stages", "The durations of a relay's stages are drawn. Execution takes longer with more gas. Rules and " +
		"floor are judged at the moment at which a bid is received; the stages' durations then pass until the " +
		"bid counts."},
	{"optimistic bids", "Blocks of bids that count at once are executed from 4.2 s into their slot on, when its " +
		"payload is out."},
	{"clocks", "Each relay, the bundle RPC and each proposer has a clock that is wrong by a constant: of relays " +
		"by up to 8 ms, of the RPC by up to 8 ms, of proposers by up to 40 ms. `slot_start` is right."},
	{"proposers", "Of 64 validators, 3 have not registered, and their blocks are local. The others have a habit " +
		"each: most ask for headers 50 to 900 ms into the slot; one of six plays a timing game and asks 1.1 to " +
		"2.7 s into it; one of 13 asks between 3.3 and 4.05 s, and then misses the slot if its signed block " +
		"comes later than 4 s; one of 16 is offline in every other slot. One request for a header in 100 has no " +
		"answer."},
	{"builders", "Eight builders with the strategies of the devnet. Which rule `builder-8` breaks, and when " +
		"`builder-2`, whose bids count at once, does not pay, is drawn. A demoted builder counts at once again " +
		"after 48 slots. One submission in 25 is sent a second time."},
	{"users", "Habits are those of the devnet's users: what they swap is drawn, and follows no market outside."},
	{"signatures", "Bids, headers, blinded blocks and transactions are signed, and these signatures are " +
		"verified. Registrations are not signed."},
	{"beacon chain", "RANDAO, block roots and withdrawals are made up; there are no other consensus data, no " +
		"blocks are orphaned, and none is lost between relay and chain."},
	{"collector", "`observed_at` is when a collector that reads both relays' lists sees a bid that counts or a " +
		"payload; of rows of the kind `header` it is when the relay served the header, by its own clock. Of a public " +
		"transaction it is 20 to 90 ms after the transaction was sent; private ones are in no row of `transactions`."},
}
