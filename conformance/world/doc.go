// Package world is what stands around a target so that the suite may do more than ask: a chain, an
// execution node, a beacon node, validators, and accounts with money. A target follows it as it
// would follow a real network, at the pace of the wall clock; the suite steers it over HTTP, from
// this process or from others.
//
//	target ──Beacon API, JSON-RPC──▶ chain and beacon node ◀── keeper: a local block in each slot that nobody has asked for
//	bundle RPC ──orders──▶ builders ─────────────▲ with the orders that the suite wants there
//	suite  ──/conformance/v1/…─────▶ Server: slots, blocks, accounts, orders, refusals of the beacon node, blocks that it has already
//
// A slot is given to one spec, or to one process whose specs bid in it one after the other, each
// above the one before: so specs may run in any order, and in several processes.
package world

import (
	"math/big"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Facts are what the suite must know of the world. Numbers are JSON numbers, bytes 0x and hex.
type Facts struct {
	GenesisTime           int64  `json:"genesisTime"` // seconds since 1970
	GenesisForkVersion    string `json:"genesisForkVersion"`
	GenesisValidatorsRoot string `json:"genesisValidatorsRoot"`
	SlotMs                int64  `json:"slotMs"`
	SlotsPerEpoch         uint64 `json:"slotsPerEpoch"`
	// Fork is the name of the fork, the same for all slots; ForkVersion is signed into its blocks.
	Fork         string `json:"fork"`
	ForkVersion  string `json:"forkVersion"`
	ChainID      uint64 `json:"chainId"`
	BeaconURL    string `json:"beaconUrl"`
	ExecutionURL string `json:"executionUrl"`
	// ValidationURL serves flashbots_validateBuilderSubmission, for relays that ask a node.
	ValidationURL string `json:"validationUrl"`
	// Builders take orders from a bundle RPC; the first is to be the operator's own.
	Builders []Builder `json:"builders"`
	// ValidatorKeys are the secret keys of all validators, in the order of their indices.
	ValidatorKeys []string `json:"validatorKeys"`
}

// Builder is where orders for a builder are posted to, as JSON-RPC.
type Builder struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// ForkOf is the fork by its name.
func (f Facts) ForkOf() eth.Fork {
	fork, err := eth.ParseFork(f.Fork)
	if err != nil {
		panic("a world without a fork: " + err.Error()) // Dial has read it
	}
	return fork
}

// Slot is a slot that was given to one spec.
type Slot struct {
	Slot           phase0.Slot           `json:"slot"`
	ParentHash     phase0.Hash32         `json:"parentHash"`
	ParentRoot     phase0.Root           `json:"parentRoot"`
	PrevRandao     phase0.Hash32         `json:"prevRandao"`
	Withdrawals    []*capella.Withdrawal `json:"withdrawals"`
	ValidatorIndex phase0.ValidatorIndex `json:"validatorIndex"`
	Timestamp      uint64                `json:"timestamp"` // seconds since 1970, the slot's start
	// BaseGwei is above all values that were bid in the slot before, and a spec's own bids are on top
	// of it.
	BaseGwei uint64 `json:"baseGwei"`
}

// Wanted says which slot to wait for.
type Wanted struct {
	// Kind of proposer: Registered, Restless or Stranger.
	Kind Kind `json:"kind"`
	// Propose keeps the world from making a block in the slot, since the spec will.
	Propose bool `json:"propose"`
	// Alone gives a slot in which nobody bids beside the spec. Else specs of one process may get the
	// same slot, one after the other.
	Alone bool `json:"alone"`
	// Who is the process that asks; processes never share a slot.
	Who string `json:"who"`
}

// Kind is what specs do with a validator's registration.
type Kind string

// The kinds. Of the validators the last is the Stranger, who never registers, and the one before is
// Restless, whose registration specs change.
const (
	Registered Kind = "registered"
	Restless   Kind = "restless"
	Stranger   Kind = "stranger"
)

// KindOf is the kind of a validator out of so many.
func KindOf(index phase0.ValidatorIndex, validators int) Kind {
	switch int(index) {
	case validators - 1:
		return Stranger
	case validators - 2:
		return Restless
	default:
		return Registered
	}
}

// Order says which block to build.
type Order struct {
	Slot         Slot     `json:"slot"`
	FeeRecipient string   `json:"feeRecipient"`
	PaysWei      *big.Int `json:"paysWei"`
	GasLimit     uint64   `json:"gasLimit"`
	// Blobs is how many blobs the block carries, at most 3.
	Blobs int `json:"blobs"`
	// Extra goes into the block's extra data, so that blocks of one slot differ.
	Extra string `json:"extra"`
}

// Block is a submission without a message and without a signature, as SSZ of the fork's
// SubmitBlockRequest in hex.
type Block struct {
	Submission string `json:"submission"`
}

// Account has money at genesis, and is given to one spec.
type Account struct {
	SecretKey string `json:"secretKey"`
}
