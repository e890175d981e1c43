package monitor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-builder-client/api/deneb"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	denebspec "github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

var (
	network = &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Deneb}},
	}
	relayKey  = bls.Derive("relay", 1)
	validator = bls.Derive("validator", 1)
	parent    = phase0.Hash32{0xaa}
	question  = HeaderRequest{Slot: 7, Parent: parent, Proposer: validator.PublicKey(), ParentGasLimit: 30_000_000,
		GasLimit: 36_000_000}
)

// aBid is a good answer to the question, changed and then signed by a key.
func aBid(t *testing.T, key *bls.SecretKey, change func(*deneb.BuilderBid)) *builderspec.VersionedSignedBuilderBid {
	t.Helper()
	message := &deneb.BuilderBid{
		Header: &denebspec.ExecutionPayloadHeader{
			ParentHash: parent, BlockHash: phase0.Hash32{1}, Timestamp: network.Timestamp(7), BaseFeePerGas: uint256.NewInt(7),
			GasLimit: eth.ExpectedGasLimit(30_000_000, 36_000_000), ExtraData: []byte{},
		},
		Value: uint256.NewInt(5), Pubkey: key.PublicKey(),
	}
	change(message)
	root, err := message.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	return &builderspec.VersionedSignedBuilderBid{Version: spec.DataVersionDeneb, Deneb: &deneb.SignedBuilderBid{
		Message: message, Signature: key.Sign(eth.SigningRoot(root, network.BuilderDomain())),
	}}
}

// words are findings in one line: class and detail.
func words(found []Finding) string {
	var out []string
	for _, one := range found {
		out = append(out, fmt.Sprintf("%s: %s", one.Class, one.Detail))
	}
	return strings.Join(out, "; ")
}

func TestJudgeAnswer(t *testing.T) {
	good := func(*deneb.BuilderBid) {}
	other := relayKey.PublicKey()
	spoiled := aBid(t, relayKey, good)
	spoiled.Deneb.Signature[5] ^= 1
	for name, c := range map[string]struct {
		answer Answer
		want   string
	}{
		"good":        {Answer{Bid: aBid(t, relayKey, good)}, ""},
		"no bid":      {Answer{}, ""},
		"refused":     {Answer{Refused: true, Err: errors.New("relay answers 400: slot is too old")}, ""},
		"unavailable": {Answer{Err: errors.New("relay answers 503")}, "unavailable: getHeader: relay answers 503"},
		"slow": {Answer{Took: 2 * time.Second, Bid: aBid(t, relayKey, good)},
			"slow: getHeader took 2000ms, proposers wait 950ms"},
		"other key": {Answer{Bid: aBid(t, bls.Derive("other", 1), good)}, "signature: signed by 0x"},
		"spoiled":   {Answer{Bid: spoiled}, "signature: the signature does not verify"},
		"parent": {
			Answer{Bid: aBid(t, relayKey, func(b *deneb.BuilderBid) { b.Header.ParentHash[0] = 0xbb })},
			"parent-hash: on 0xbb",
		},
		"timestamp": {
			Answer{Bid: aBid(t, relayKey, func(b *deneb.BuilderBid) { b.Header.Timestamp++ })},
			"timestamp: 1700000085, the slot's is 1700000084",
		},
		"gas limit": {
			Answer{Bid: aBid(t, relayKey, func(b *deneb.BuilderBid) { b.Header.GasLimit = 30_000_000 })},
			"gas-limit: 30000000, the proposer registered 36000000, which makes 30029295 after 30000000",
		},
		"worthless": {Answer{Bid: aBid(t, relayKey, func(b *deneb.BuilderBid) {
			b.Value = new(uint256.Int)
		})}, "value: the header is worth nothing"},
		"empty": {Answer{Bid: &builderspec.VersionedSignedBuilderBid{Version: spec.DataVersionFulu}},
			"signature: the bid cannot be read"},
	} {
		found := JudgeHeader(network, other, question, c.answer, 950*time.Millisecond)
		if got := words(found); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") || len(found) > 1 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for _, one := range found {
			if one.Slot != 7 {
				t.Errorf("%s: in slot %d", name, one.Slot)
			}
		}
	}
}

// Without a registration any gas limit within the step is right, and without a parent's all are.
func TestJudgeGasLimitWithoutRegistration(t *testing.T) {
	bid := func(limit uint64) Answer {
		return Answer{Bid: aBid(t, relayKey, func(b *deneb.BuilderBid) { b.Header.GasLimit = limit })}
	}
	unknown := question
	unknown.GasLimit = 0
	if got := words(JudgeHeader(network, phase0.BLSPubKey{}, unknown, bid(30_010_000), time.Second)); got != "" {
		t.Errorf("within the step: %s", got)
	}
	got := words(JudgeHeader(network, phase0.BLSPubKey{}, unknown, bid(31_000_000), time.Second))
	if !strings.HasPrefix(got, "gas-limit") {
		t.Errorf("beyond the step: %q", got)
	}
	unknown.ParentGasLimit = 0
	if got := words(JudgeHeader(network, phase0.BLSPubKey{}, unknown, bid(1), time.Second)); got != "" {
		t.Errorf("without a parent: %s", got)
	}
}

func TestJudgeSlot(t *testing.T) {
	one, two := phase0.Hash32{1}, phase0.Hash32{2}
	served := map[phase0.Hash32]*uint256.Int{one: uint256.NewInt(9)}
	listed := func(hash phase0.Hash32, value uint64) []Delivered { return []Delivered{{hash, uint256.NewInt(value)}} }
	for name, c := range map[string]struct {
		over PastSlot
		want string
	}{
		"good": {PastSlot{Landed: one, Served: served, Best: true, Listed: listed(one, 9), ListedByAny: true},
			""},
		"another relay's":      {PastSlot{Landed: two, Served: served, ListedByAny: true}, ""},
		"nothing":              {PastSlot{}, ""},
		"missed, not the best": {PastSlot{Served: served}, ""},
		"withheld": {PastSlot{Served: served, Best: true},
			"withheld: 1 headers were served, and the slot has no block"},
		"unlisted":          {PastSlot{Landed: one, Served: served}, "unlisted-delivery: 0x01"},
		"listed by another": {PastSlot{Landed: one, Served: served, ListedByAny: true}, ""},
		"list unavailable": {PastSlot{Landed: one, Served: served, ListErr: errors.New("503")},
			"unavailable: list of delivered payloads: 503"},
		"listed, other block": {PastSlot{Landed: two, Listed: listed(one, 9), ListedByAny: true}, "listed-unlanded: 0x01"},
		"listed, no block":    {PastSlot{Listed: listed(one, 9)}, "listed-unlanded: 0x01"},
		"listed for less": {PastSlot{Landed: one, Served: served, Listed: listed(one, 8), ListedByAny: true},
			"value: 0x01"},
	} {
		found := JudgeSlot(c.over)
		if got := words(found); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") || len(found) > 1 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestJudgeRegistration(t *testing.T) {
	message := &builderv1.ValidatorRegistration{
		FeeRecipient: bellatrix.ExecutionAddress{1}, GasLimit: 36_000_000, Timestamp: network.GenesisTime,
		Pubkey: validator.PublicKey(),
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	good := &builderv1.SignedValidatorRegistration{Message: message,
		Signature: validator.Sign(eth.SigningRoot(root, network.BuilderDomain()))}
	forged := &builderv1.SignedValidatorRegistration{Message: message,
		Signature: relayKey.Sign(eth.SigningRoot(root, network.BuilderDomain()))}
	for name, c := range map[string]struct {
		shown ShownRegistration
		want  string
	}{
		"good":              {ShownRegistration{Registration: good, Serves: true}, ""},
		"none, no headers":  {ShownRegistration{}, ""},
		"none, but headers": {ShownRegistration{Serves: true}, "registrations: headers are served for 0x"},
		"forged":            {ShownRegistration{Registration: forged}, "registrations: the registration of 0x"},
		"unavailable": {ShownRegistration{Err: errors.New("relay answers 503")},
			"unavailable: registration: relay answers 503"},
	} {
		c.shown.Proposer = validator.PublicKey()
		if got := words(JudgeRegistration(network, c.shown)); !strings.HasPrefix(got, c.want) ||
			(c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	wrong := ShownRegistration{Registration: good, Proposer: relayKey.PublicKey()}
	if got := words(JudgeRegistration(network, wrong)); !strings.HasPrefix(got, "registrations: asked for") {
		t.Errorf("another validator's: %q", got)
	}
}
