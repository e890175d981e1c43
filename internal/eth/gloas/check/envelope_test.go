package check

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// goodEnvelope is an envelope of slot 65 that keeps every rule.
func goodEnvelope() *EnvelopeCase {
	requests := &gloas.ExecutionRequests{Withdrawals: []*electra.WithdrawalRequest{{Amount: 3}}}
	root, err := gloas.Mainnet.ExecutionRequests.Root(requests)
	if err != nil {
		panic(err)
	}
	c := &EnvelopeCase{
		Spec: &eth.Spec{
			GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
			Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6}}, {Fork: eth.Gloas, Epoch: 2,
				Version: phase0.Version{7}}},
		},
		Bid: &gloas.ExecutionPayloadBid{
			ParentBlockHash: phase0.Hash32{2}, BlockHash: phase0.Hash32{3}, PrevRandao: phase0.Root{5}, GasLimit: 60_000_000,
			BuilderIndex: 4, Slot: 65, ExecutionRequestsRoot: root,
		},
		BlockRoot: phase0.Root{6}, ParentRoot: phase0.Root{1}, Signer: builderKey.PublicKey(),
		Withdrawals: []*capella.Withdrawal{{Index: 1, Amount: 2}, {Index: 2, Amount: 3}},
		Envelope: &gloas.SignedExecutionPayloadEnvelope{Message: &gloas.ExecutionPayloadEnvelope{
			Payload: &gloas.ExecutionPayload{
				ParentHash: phase0.Hash32{2}, BlockHash: phase0.Hash32{3}, PrevRandao: [32]byte{5}, GasLimit: 60_000_000,
				Timestamp: 1_700_000_000 + 65*12, BaseFeePerGas: uint256.NewInt(7), SlotNumber: 65,
				Withdrawals: []*capella.Withdrawal{{Index: 1, Amount: 2}, {Index: 2, Amount: 3}},
			},
			ExecutionRequests: requests, BuilderIndex: 4, BeaconBlockRoot: phase0.Root{6},
			ParentBeaconBlockRoot: phase0.Root{1},
		}},
	}
	signEnvelope(c)
	return c
}

func signEnvelope(c *EnvelopeCase) {
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(c.Envelope.Message)
	if err != nil {
		panic(err)
	}
	c.Envelope.Signature = builderKey.Sign(eth.SigningRoot(root, gloas.BuilderDomain(c.Spec, c.Bid.Slot)))
}

// spoiltEnvelopes are the ways to break each rule by an envelope that its builder signs all the
// same.
var spoiltEnvelopes = map[string][]func(*EnvelopeCase){
	"signature": {
		func(c *EnvelopeCase) { c.Signer = bls.Derive("proposer", 0).PublicKey() },
		func(c *EnvelopeCase) { c.Envelope.Message.Payload.BaseFeePerGas = nil }, // it has no root then
	},
	"block":        {func(c *EnvelopeCase) { c.Envelope.Message.BeaconBlockRoot[31]++ }},
	"parent block": {func(c *EnvelopeCase) { c.Envelope.Message.ParentBeaconBlockRoot[0]++ }},
	"builder":      {func(c *EnvelopeCase) { c.Envelope.Message.BuilderIndex = gloas.SelfBuild }},
	"randao":       {func(c *EnvelopeCase) { c.Envelope.Message.Payload.PrevRandao[31]++ }},
	"gas limit":    {func(c *EnvelopeCase) { c.Envelope.Message.Payload.GasLimit-- }},
	"block hash":   {func(c *EnvelopeCase) { c.Envelope.Message.Payload.BlockHash[0]++ }},
	"requests": {
		func(c *EnvelopeCase) { c.Envelope.Message.ExecutionRequests = new(gloas.ExecutionRequests) },
		func(c *EnvelopeCase) {
			c.Envelope.Message.ExecutionRequests.BuilderExits = []*gloas.BuilderExitRequest{{}}
		},
	},
	"slot": {func(c *EnvelopeCase) { c.Envelope.Message.Payload.SlotNumber++ }},
	// that of the empty parent, or of the full one
	"parent hash": {func(c *EnvelopeCase) { c.Envelope.Message.Payload.ParentHash[0]++ }},
	"timestamp":   {func(c *EnvelopeCase) { c.Envelope.Message.Payload.Timestamp++ }},
	"withdrawals": {
		func(c *EnvelopeCase) { c.Envelope.Message.Payload.Withdrawals = nil },
		func(c *EnvelopeCase) { c.Envelope.Message.Payload.Withdrawals[1].Amount++ },
		func(c *EnvelopeCase) {
			list := c.Envelope.Message.Payload.Withdrawals
			list[0], list[1] = list[1], list[0]
		},
		func(c *EnvelopeCase) { c.Withdrawals = append(c.Withdrawals, nil) },
	},
}

func TestGoodEnvelopePasses(t *testing.T) {
	if err := goodEnvelope().Check(); err != nil {
		t.Error(err)
	}
}

// Each rule finds what breaks it, and is the first to.
func TestEnvelopeRules(t *testing.T) {
	if len(spoiltEnvelopes) != len(EnvelopeRules) {
		t.Errorf("ways to break %d of %d rules", len(spoiltEnvelopes), len(EnvelopeRules))
	}
	for _, rule := range EnvelopeRules {
		for i, spoil := range spoiltEnvelopes[rule.Name] {
			c := goodEnvelope()
			spoil(c)
			if rule.Name != "signature" {
				signEnvelope(c)
			}
			var broken *BrokenError
			if err := c.Check(); !errors.As(err, &broken) || broken.Rule != rule.Name || broken.Detail == "" {
				t.Errorf("%s, %d: %v", rule.Name, i, err)
			}
		}
	}
}

// Whatever of a payload changes after it was signed, the signature finds it.
func TestChangedPayloadIsFound(t *testing.T) {
	fields := reflect.TypeFor[gloas.ExecutionPayload]()
	for i := range fields.NumField() {
		c := goodEnvelope()
		switch field := reflect.ValueOf(c.Envelope.Message.Payload).Elem().Field(i); field.Kind() {
		case reflect.Array:
			field.Index(0).SetUint(field.Index(0).Uint() ^ 1)
		case reflect.Uint64:
			field.SetUint(field.Uint() + 1)
		case reflect.Slice:
			field.Set(reflect.Append(field, reflect.New(field.Type().Elem()).Elem()))
		case reflect.Pointer:
			field.Set(reflect.ValueOf(uint256.NewInt(8)))
		default:
			t.Fatalf("%s is a %s", fields.Field(i).Name, field.Kind())
		}
		var broken *BrokenError
		if err := c.Check(); !errors.As(err, &broken) || broken.Rule != "signature" {
			t.Errorf("another %s: %v", fields.Field(i).Name, err)
		}
	}
}
