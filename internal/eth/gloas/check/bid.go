package check

import (
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// BidCase is a bid with all that the rules compare it with.
type BidCase struct {
	Spec *eth.Spec
	Bid  *gloas.SignedExecutionPayloadBid
	// NowSlot is the slot that runs by the clock.
	NowSlot phase0.Slot
	// Seen: a valid bid of the same builder for the same slot and parent, which are parent hash and
	// parent root, has been taken.
	Seen bool
	// Highest is the highest value of a bid that was taken for the slot and parent; nil if there is
	// none.
	Highest *phase0.Gwei
	// Parent is the beacon block that the bid names as parent; nil if it is unknown.
	Parent *Parent
	// ParentGasLimit is the gas limit of the execution block that the bid names; nil if that block is
	// unknown.
	ParentGasLimit *uint64
	// Preferences are those of the slot's proposer, under the dependent root of the bid's parent; nil
	// if none were seen.
	Preferences *gloas.ProposerPreferences
	// Head is what a block of the bid's slot would be built on now.
	Head Head
	// PrevRandao is the mix of the parent's state.
	PrevRandao phase0.Root
	// Builder is the builder with the bid's index, in the parent's state; nil if there is none.
	Builder *Builder
}

// Parent is what is known of a beacon block.
type Parent struct{ Slot phase0.Slot }

// Head names the beacon block that is the head, and the newest block of the execution layer there:
// that of its own payload, or without that the one before.
type Head struct {
	Root phase0.Root
	Hash phase0.Hash32
}

// Builder is a builder in the state of a bid's parent.
type Builder struct {
	gloas.Builder
	FinalizedEpoch phase0.Epoch
	// Owed is what the builder still has to pay: its pending withdrawals and payments.
	Owed phase0.Gwei
	// Exits: the payload of the parent, which the state does not count yet, has the builder's exit.
	Exits bool
}

// Outcome is what a node does with a bid.
type Outcome uint8

// Outcomes.
const (
	Taken    Outcome = iota
	Ignored          // it is not handed on; it may be right somewhere else
	Rejected         // it is wrong everywhere, which counts against who sent it
)

func (o Outcome) String() string { return [...]string{"taken", "ignored", "rejected"}[o] }

// Verdict is an outcome with its reason: the rule's name, and what is wrong. Both are empty for a
// bid that was taken.
type Verdict struct {
	Outcome Outcome
	Rule    string
	Detail  string
}

// BidRule is a row of the table. Do returns what is wrong with a bid; an empty text for one that
// keeps the rule.
type BidRule struct {
	Name   string
	Broken Outcome
	Do     func(*BidCase) string
}

// BidRules has the rules in the order in which they run. A rule may use what those before it have
// found to be there.
var BidRules = []BidRule{
	{"first", Ignored, (*BidCase).first},
	{"highest", Ignored, (*BidCase).highest},
	{"slot", Ignored, (*BidCase).slot},
	{"payment", Rejected, (*BidCase).payment},
	{"block hash", Rejected, (*BidCase).blockHash},
	{"blobs", Rejected, (*BidCase).blobs},
	{"parent", Ignored, (*BidCase).parentKnown},
	{"after parent", Rejected, (*BidCase).afterParent},
	{"preferences", Ignored, (*BidCase).preferences},
	{"fee recipient", Ignored, (*BidCase).feeRecipient},
	{"parent block", Ignored, (*BidCase).parentBlock},
	{"gas limit", Ignored, (*BidCase).gasLimit},
	{"head", Ignored, (*BidCase).onHead},
	{"randao", Rejected, (*BidCase).prevRandao},
	{"builder", Rejected, (*BidCase).active},
	{"balance", Ignored, (*BidCase).balance},
	{"exit", Ignored, (*BidCase).noExit},
	{"signature", Rejected, (*BidCase).signature},
}

// RelayRules are those that a relay can apply to a bid that its builder sends it. It takes what is
// promised within the payload, keeps several bids of a builder, and has no state of the parent.
var RelayRules = rulesNamed("slot", "block hash", "blobs", "preferences", "fee recipient", "randao", "builder",
	"balance", "signature")

// CoverRules say whether a builder may bid, and can pay what it bids. What they look at changes
// while a bid stands.
var CoverRules = rulesNamed("builder", "balance")

// rulesNamed returns rules of the table, in its order.
func rulesNamed(names ...string) (list []BidRule) {
	for _, rule := range BidRules {
		if slices.Contains(names, rule.Name) {
			list = append(list, rule)
		}
	}
	return list
}

// Judge applies all rules in order and returns the verdict of the first that is broken.
func (c *BidCase) Judge() Verdict { return c.JudgeBy(BidRules) }

// JudgeBy applies some of the rules.
func (c *BidCase) JudgeBy(rules []BidRule) Verdict {
	for _, rule := range rules {
		if detail := rule.Do(c); detail != "" {
			return Verdict{rule.Broken, rule.Name, detail}
		}
	}
	return Verdict{}
}
