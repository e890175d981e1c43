package check

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

var builderKey = bls.Derive("staked builder", 0)

// goodBid is a bid that keeps every rule, for slot 65 on a parent of slot 63.
func goodBid() *BidCase {
	gasLimit, other := uint64(60_000_000), phase0.Gwei(99)
	c := &BidCase{
		Spec: &eth.Spec{
			GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
			Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6}}, {Fork: eth.Gloas, Epoch: 2,
				Version: phase0.Version{7}}},
		},
		NowSlot: 64, Highest: &other, Parent: &Parent{Slot: 63}, ParentGasLimit: &gasLimit,
		Preferences: &gloas.ProposerPreferences{ProposalSlot: 65, FeeRecipient: bellatrix.ExecutionAddress{0xfe},
			TargetGasLimit: 60_000_000},
		Head:       Head{Root: phase0.Root{1}, Hash: phase0.Hash32{2}},
		PrevRandao: phase0.Root{5},
		Builder: &Builder{
			Builder: gloas.Builder{
				Pubkey: builderKey.PublicKey(), Balance: gloas.MinDeposit + 150,
				DepositEpoch: 1, WithdrawableEpoch: gloas.FarFuture,
			},
			FinalizedEpoch: 2, Owed: 50,
		},
		Bid: &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{
			ParentBlockHash: phase0.Hash32{2}, ParentBlockRoot: phase0.Root{1}, BlockHash: phase0.Hash32{3},
			PrevRandao: phase0.Root{5}, FeeRecipient: bellatrix.ExecutionAddress{0xfe}, GasLimit: 60_000_000, BuilderIndex: 4,
			Slot: 65, Value: 100, BlobKZGCommitments: make([]deneb.KZGCommitment, 9),
		}},
	}
	signBid(c)
	return c
}

func signBid(c *BidCase) {
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(c.Bid.Message)
	if err != nil {
		panic(err)
	}
	c.Bid.Signature = builderKey.Sign(eth.SigningRoot(root, gloas.BuilderDomain(c.Spec, c.Bid.Message.Slot)))
}

// spoiltBids are the ways to break each rule, and no rule before it.
var spoiltBids = map[string][]func(*BidCase){
	"first":   {func(c *BidCase) { c.Seen = true }},
	"highest": {func(c *BidCase) { *c.Highest = 100 }, func(c *BidCase) { *c.Highest = 101 }},
	"slot":    {func(c *BidCase) { c.NowSlot = 66 }, func(c *BidCase) { c.NowSlot = 63 }},
	"payment": {func(c *BidCase) { c.Bid.Message.ExecutionPayment = 1 }},
	"block hash": {func(c *BidCase) {
		c.Bid.Message.BlockHash = c.Bid.Message.ParentBlockHash
	}},
	"blobs":        {func(c *BidCase) { c.Bid.Message.BlobKZGCommitments = make([]deneb.KZGCommitment, 10) }},
	"parent":       {func(c *BidCase) { c.Parent = nil }},
	"after parent": {func(c *BidCase) { c.Parent.Slot = 65 }, func(c *BidCase) { c.Parent.Slot = 66 }},
	"preferences": {
		func(c *BidCase) { c.Preferences = nil },
		func(c *BidCase) { c.Preferences.ProposalSlot = 64 },
	},
	"fee recipient": {func(c *BidCase) { c.Preferences.FeeRecipient[19] = 1 }},
	"parent block":  {func(c *BidCase) { c.ParentGasLimit = nil }},
	"gas limit": {
		func(c *BidCase) { c.Bid.Message.GasLimit++ },
		func(c *BidCase) { c.Preferences.TargetGasLimit = 30_000_000 },
		func(c *BidCase) { *c.ParentGasLimit = 45_000_000 },
	},
	"head": {
		func(c *BidCase) { c.Head.Root[0]++ },
		func(c *BidCase) { c.Head.Hash[0]++ }, // the parent's payload came, or went
	},
	"randao": {func(c *BidCase) { c.PrevRandao[31]++ }},
	"builder": {
		func(c *BidCase) { c.Builder = nil },
		func(c *BidCase) { c.Builder.Version = 1 },
		func(c *BidCase) { c.Builder.FinalizedEpoch = 1 },
		func(c *BidCase) { c.Builder.WithdrawableEpoch = 1000 },
	},
	"balance": {
		func(c *BidCase) { c.Builder.Balance-- },
		func(c *BidCase) { c.Builder.Owed++ },
		func(c *BidCase) { c.Builder.Owed = 1<<64 - 1 },
		func(c *BidCase) { c.Builder.Balance = 0 },
		func(c *BidCase) { c.Bid.Message.Value = 1<<64 - 1 },
	},
	"exit": {func(c *BidCase) { c.Builder.Exits = true }},
	"signature": {
		func(c *BidCase) { c.Bid.Signature[95]++ },
		func(c *BidCase) { c.Builder.Pubkey = bls.Derive("staked builder", 1).PublicKey() },
		func(c *BidCase) { c.Spec.Forks[1].Version[0]++ },
	},
}

func TestGoodBidIsTaken(t *testing.T) {
	for name, change := range map[string]func(*BidCase){
		"for the next slot":         func(*BidCase) {},
		"for the slot that runs":    func(c *BidCase) { c.NowSlot = 65 },
		"as the first for the slot": func(c *BidCase) { c.Highest = nil },
		"with all that is free":     func(c *BidCase) { c.Builder.Owed, c.Builder.Balance = 0, gloas.MinDeposit+100 },
	} {
		c := goodBid()
		change(c)
		if verdict := c.Judge(); verdict != (Verdict{}) {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

// Each rule finds what breaks it, and is the first to: its place and outcome are those of the
// specification.
func TestBidRules(t *testing.T) {
	for _, rule := range BidRules {
		if len(spoiltBids[rule.Name]) == 0 {
			t.Errorf("nothing breaks the rule %s", rule.Name)
		}
		for i, spoil := range spoiltBids[rule.Name] {
			c := goodBid()
			spoil(c)
			got := c.Judge()
			if got.Rule != rule.Name || got.Outcome != rule.Broken || got.Detail == "" {
				t.Errorf("%s, %d: %+v", rule.Name, i, got)
			}
		}
	}
}

// The outcomes, in the order of the specification.
func TestTableIsThatOfTheSpecification(t *testing.T) {
	var outcomes strings.Builder
	for _, rule := range BidRules {
		outcomes.WriteByte(rule.Broken.String()[0])
	}
	if got := outcomes.String(); got != "iiirrririiiiirriir" {
		t.Errorf("outcomes %s", got)
	}
	if fmt.Sprint(Taken, Ignored, Rejected) != "taken ignored rejected" {
		t.Error("outcomes have other names")
	}
}

// Of two rules that are broken, the one that comes first decides.
func TestFirstBrokenRuleDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.IntRange(0, len(BidRules)-2).Draw(t, "one")
		two := rapid.IntRange(one+1, len(BidRules)-1).Draw(t, "two")
		c := goodBid()
		for _, at := range []int{two, one} {
			ways := spoiltBids[BidRules[at].Name]
			spoil := rapid.SampledFrom(ways).Draw(t, "way")
			if c.Builder == nil && at > 14 || c.Preferences == nil || c.ParentGasLimit == nil || c.Parent == nil {
				continue // the second way needs what the first took away
			}
			spoil(c)
		}
		if got := c.Judge(); got.Outcome == Taken || place(got.Rule) > two {
			t.Fatalf("%s and %s: %+v", BidRules[one].Name, BidRules[two].Name, got)
		}
	})
}

func place(rule string) int {
	for i := range BidRules {
		if BidRules[i].Name == rule {
			return i
		}
	}
	return len(BidRules)
}

// A bid of which anything was changed after it was signed is not taken.
func TestChangedBidIsNotTaken(t *testing.T) {
	fields := reflect.TypeFor[gloas.ExecutionPayloadBid]().NumField()
	for i := range fields {
		c := goodBid()
		field := reflect.ValueOf(c.Bid.Message).Elem().Field(i)
		switch field.Kind() {
		case reflect.Array:
			field.Index(field.Len() - 1).SetUint(7)
		case reflect.Uint64:
			field.SetUint(field.Uint() + 1)
		case reflect.Slice:
			field.Set(field.Slice(0, field.Len()-1))
		default:
			t.Fatalf("field %d is a %s", i, field.Kind())
		}
		if verdict := c.Judge(); verdict.Outcome == Taken {
			t.Errorf("another %s is taken", reflect.TypeFor[gloas.ExecutionPayloadBid]().Field(i).Name)
		}
	}
}
