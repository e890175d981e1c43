package scenarios

import "slices"

// Checks are the rules that a cheating builder can break, each named after the field or rule.
var Checks = []string{
	"value", "payment", "block-hash", "parent-hash", "gas-limit", "gas-used", "timestamp", "prev-randao", "withdrawals",
	"fee-recipient", "proposer",
	"slot", "signature", "state-root", "empty-payload",
}

// Conditions say in which position a builder takes its bid back.
var Conditions = []string{"leading", "outbid"}

// Causes say why the chain leaves a payload out: it was never revealed; the committee does not say
// that it was there in time; or not that its blobs were.
var Causes = []string{Withheld, Unseen, NoBlobs}

// FaultClasses are the faults of relays that a relay monitor tells apart. A relay of the lab can be
// made to misbehave in each of these ways.
var FaultClasses = []string{
	"signature", "parent-hash", "timestamp", "gas-limit", "value", "withheld", "unlisted-delivery", "registrations",
	"unavailable", "slow", "listed-unlanded",
}

// MonitorClasses are all faults that a monitor reports, those of proposers too.
var MonitorClasses = append(slices.Clone(FaultClasses), "equivocation")

var builderMoves = catalogue{"a builder's strategy", []entry{
	{"naive", "bids a rising share of what its block earns, three times a slot", nil},
	{"adaptive +VALUE", "overbids the leading bid by VALUE whenever it is another's, up to what its block earns", nil},
	{"last-minute at TIME", "bids once, all that its block earns, at TIME against the slot's start", nil},
	{"bluff VALUE until TIME", "bids VALUE, whatever its block earns, and takes that back for an honest bid at TIME", nil},
	{"stealth until TIME", "shows a token bid, and all that its block earns only at TIME", nil},
	{"shade PERCENT", "keeps PERCENT of what its block earns", nil},
	{"fixed VALUE", "bids VALUE in each slot, whatever its block earns", nil},
	{"cancel when CONDITION", "lowers its bid to a tenth once it is in that position", Conditions},
	{"cancel at TIME", "lowers its bid to a tenth at TIME", nil},
	{"cheat CHECK", "breaks that rule in every submission", Checks},
	{"bids COUNT", "makes COUNT bids a slot", nil},
	{"burst COUNT", "sends COUNT more submissions a slot, all at once", nil},
	{"replay", "sends each of its submissions again in the next slot, signature and all", nil},
	{"only RELAY", "bids to that relay only", nil},
	{"stall DURATION",
		"reads no leading bid for DURATION after the first one; no fault is on the connection that tells them", nil},
	{"stubborn", "stays with the first parent that is announced for a slot, although another one is announced later", nil},
	{"stake VALUE",
		"has VALUE staked at genesis, bids once a slot by the network in the place of relays, pays from its stake, and " +
			"reveals its payloads itself (from gloas on)", nil},
	{"withhold", "never reveals the payloads that it has sold by the network", nil},
	{"withhold blobs", "reveals such payloads without their blobs", nil},
	{"reveal at TIME", "reveals such payloads at TIME into the slot", nil},
	{"exit", "asks the chain to let it go with its stake, when its first auction begins", nil},
	{"offline", "does nothing", nil},
}}

var proposerMoves = catalogue{"a proposer's strategy", []entry{
	{"honest", "asks for a header when the slot begins, signs it and has it published", nil},
	{"request at TIME", "asks for the header at TIME into the slot", nil},
	{"repeat COUNT", "asks for the header COUNT times, 100ms apart, and takes the last", nil},
	{"equivocate", "signs a second block of the slot and asks for that payload too", nil},
	{"equivocate at TIME", "asks for the payload of its second block at TIME into the slot", nil},
	{"submit at TIME", "hands its signed block over at TIME into the slot", nil},
	{"unbundle",
		"signs the header in a block that cannot be published, to learn the payload; from gloas on it gives the relay one " +
			"block and the network another", nil},
	{"replay", "hands the same signed block over three times", nil},
	{"local", "asks no relay and proposes its own node's block", nil},
	{"silent", "asks for a header and never signs it", nil},
	{"withhold", "does not reveal the payload of its own node (from gloas on)", nil},
	{"cap VALUE", "counts at most VALUE of a payment within the payload, and says so to relays beforehand (from gloas on)",
		nil},
	{"count VALUE", "counts at most VALUE of a payment within the payload, and says so to nobody (from gloas on)", nil},
	{"minimum bid VALUE", "takes no bid that counts for less than VALUE (from gloas on)", nil},
	{"boost PERCENT", "weighs bids at PERCENT against its own node's payload (from gloas on)", nil},
	{"stale auth", "asks relays by their URL in the place of its host, as an old client does (from gloas on)", nil},
	{"unheard", "tells nobody its fee recipient and gas limit (from gloas on)", nil},
	{"contradict", "asks for another fee recipient on each branch of the chain (from gloas on)", nil},
	{"offline", "proposes nothing", nil},
	{"register COUNT", "sends its registrations COUNT more times in the slot", nil},
}}

var userMoves = catalogue{"a user's strategy", []entry{
	{"private", "sends a swap in each slot to the bundle RPC only", nil},
	{"public", "sends its swaps to everybody", nil},
	{"fast", "wants its transactions sent to all builders, for a smaller refund", nil},
	{"hide", "lets no searcher see anything", nil},
	{"split PERCENT", "has PERCENT of its refunds paid to a friend", nil},
	{"cancel after DURATION", "takes each transaction back after DURATION", nil},
	{"chatter COUNT",
		"sends COUNT more transactions a slot, of which searchers see eight kilobytes each; they pay builders nothing", nil},
	{"exclusive BUILDER", "lets only that builder and the operator's own have its transactions, and searchers see nothing",
		nil},
	{"offline", "does nothing", nil},
}}

var searcherMoves = catalogue{"a searcher's strategy", []entry{
	{"backrun", "answers each hint of a swap with a backrun", nil},
	{"conflict", "sends two bundles a slot of which only one can land", nil},
	{"delay refund", "sends a bundle a slot whose refund is to be paid outside of the block", nil},
	{"listen", "hears all hints and sends nothing", nil},
	{"stall DURATION", "listens, but reads nothing for DURATION after the first hint; no fault is on its connection", nil},
	{"offline", "does nothing", nil},
}}

var faultMoves = catalogue{"a fault", []entry{
	{"latency DURATION", "what is sent arrives DURATION later", nil},
	{"drop PERCENT", "that share of connections is never answered", nil},
	{"reset", "connections are reset", nil},
	{"partition", "nothing gets through, and nobody is told", nil},
	{"answer STATUS", "each request is answered with that status", nil},
	{"corrupt PERCENT", "that share of requests reaches the other side with wrong bytes", nil},
	{"kill", "the service's process is killed (SIGKILL); at the end of the fault it is started again", nil},
	{"pause", "the service's process stands still (SIGSTOP); at the end of the fault it goes on (SIGCONT)", nil},
	{"disk full", "the disk with the service's data has no room; what is removed makes some", nil},
	{"slow disk DURATION", "each write to that disk, and each sync, takes DURATION longer", nil},
	{"power cut",
		"the service's machine has no power: nobody answers, and what was not synced is gone; at the end of the fault it " +
			"is started again", nil},
	{"journal away",
		"the server of its journal, which stands apart then, is killed; at the end of the fault it is started again", nil},
	{"journal node NODE away",
		"one server of its journal's cluster is killed; at the end of the fault it is started again", nil},
	{"journal node NODE paused",
		"one server of its journal's cluster stands still; at the end of the fault it goes on", nil},
	{"known blocks refused",
		"the beacon node refuses a block that it has already, in the words for a second block of its proposer", nil},
	{"committee absent", "nobody votes on whether payloads were there in time (from gloas on)", nil},
	{"envelopes refused", "the beacon node takes no payload (from gloas on)", nil},
	{"slow validation DURATION", "each validation of a block takes DURATION longer", nil},
	{"validation down", "no block can be validated", nil},
	{"database down", "the database takes no statements", nil},
	{"skew TIME", "the clock is wrong by TIME; what waits for a moment already wakes as if it were not", nil},
	{"clock jump TIME",
		"the service's clock jumps by TIME, ahead or back, and at the end of the fault back again; what waits for a " +
			"moment looks at it anew", nil},
}}

// linkFaults break a connection; all others break a service.
var linkFaults = []string{"latency", "drop", "reset", "partition", "answer", "corrupt"}

// processFaults break a service's process, or what the process needs. diskFaults need the service's
// data to be on a disk of the lab (package disk).
var (
	processFaults = []string{"kill", "pause", "disk full", "slow disk", "power cut", "journal away", "journal node",
		"clock jump", "skew"}
	diskFaults = []string{"disk full", "slow disk", "power cut"}
)
