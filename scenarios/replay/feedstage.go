package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/run"
)

// stage is where archived auctions are held again: a world, and a relay that follows it. Requests
// are the conformance suite's, so that any relay that follows the specifications understands them.
type stage struct {
	clock clock.Clock
	world *world.Client
	relay *probe.Client
	// relayKey is what the relay's headers are signed with; nil: nobody said.
	relayKey   *phase0.BLSPubKey
	validators []*probe.BLSKey
	// builderDomain is that of registrations, submissions and bids (builder-specs).
	builderDomain phase0.Domain
}

const (
	jsonType = "application/json"
	sszType  = "application/octet-stream"
	// requestTimeout bounds a request, in wall time.
	requestTimeout = 30 * time.Second
	// newsPatience is how long a relay may take until it knows of a slot that the world has given
	// away. Refusals of that time are no answer yet.
	newsPatience = 300 * time.Millisecond
	pollEvery    = 20 * time.Millisecond
)

// openStage connects to a world, and to the relay at a URL, whose user part may name its key.
func openStage(ctx context.Context, o FeedOptions) (*stage, error) {
	at, err := url.Parse(o.RelayURL)
	if err != nil || at.Host == "" {
		return nil, run.Usage(fmt.Errorf("the relay's URL %q: write it as http://0xKEY@host:port, or without the key",
			o.RelayURL))
	}
	s := &stage{clock: o.Clock}
	if name := at.User.Username(); name != "" {
		raw, err := unhex(name)
		if err != nil || len(raw) != len(phase0.BLSPubKey{}) {
			return nil, run.Usage(fmt.Errorf("the relay's URL names the key %q: it must be 0x and 48 bytes", name))
		}
		s.relayKey = (*phase0.BLSPubKey)(raw)
	}
	at.User = nil
	s.relay = probe.NewClient(at.String(), nil, requestTimeout).By(o.Clock)
	if s.world, err = world.Dial(ctx, o.WorldURL); err != nil {
		return nil, fmt.Errorf("connect to the world: %w", err)
	}
	for _, text := range s.world.Facts.ValidatorKeys {
		raw, err := unhex(text)
		if err != nil {
			return nil, fmt.Errorf("read a validator's key: %w", err)
		}
		key, err := probe.ParseBLSKey(raw)
		if err != nil {
			return nil, fmt.Errorf("read a validator's key: %w", err)
		}
		s.validators = append(s.validators, key)
	}
	version, err := unhex(s.world.Facts.GenesisForkVersion)
	if err != nil {
		return nil, fmt.Errorf("read the world's genesis fork version: %w", err)
	}
	s.builderDomain = probe.Domain(probe.DomainBuilder, phase0.Version(version), phase0.Root{})
	return s, nil
}

func unhex(text string) ([]byte, error) { return hex.DecodeString(strings.TrimPrefix(text, "0x")) }

// payee returns the fee recipient that a validator registers for a feed. Nobody else pays it.
func payee(index phase0.ValidatorIndex) (address bellatrix.ExecutionAddress) {
	sum := sha256.Sum256(fmt.Appendf(nil, "fee recipient %d of a feed", index))
	copy(address[:], sum[:])
	return address
}

// register registers the world's validators, and waits until the relay lists one of them, at most
// for two epochs.
func (s *stage) register(ctx context.Context) error {
	facts := s.world.Facts
	if err := s.clock.Until(ctx, time.Unix(facts.GenesisTime+1, 0)); err != nil {
		return err
	}
	var list []*builderv1.SignedValidatorRegistration
	for i, key := range s.validators {
		index := phase0.ValidatorIndex(i)
		if world.KindOf(index, len(s.validators)) != world.Registered {
			continue
		}
		signed := &builderv1.SignedValidatorRegistration{Message: &builderv1.ValidatorRegistration{
			FeeRecipient: payee(index), GasLimit: network.GasLimit, Timestamp: s.clock.Now().Truncate(time.Second),
			Pubkey: key.Public,
		}}
		root, err := signed.Message.HashTreeRoot()
		if err != nil {
			return fmt.Errorf("hash a registration: %w", err)
		}
		signed.Signature = key.Sign(probe.SigningRoot(root, s.builderDomain))
		list = append(list, signed)
	}
	body, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode registrations: %w", err)
	}
	until := s.clock.Now().Add(facts.Slots(2 * int(facts.SlotsPerEpoch)))
	for {
		err := s.tryRegister(ctx, body)
		if err == nil || ctx.Err() != nil || s.clock.Now().After(until) {
			return err
		}
		if err := s.clock.Until(ctx, s.clock.Now().Add(facts.Slots(1)/2)); err != nil {
			return err
		}
	}
}

var errUnlisted = errors.New("the relay lists none of the world's validators as a proposer: does it follow the world?")

func (s *stage) tryRegister(ctx context.Context, body []byte) error {
	answer, err := s.relay.Do(ctx, probe.Request{Method: http.MethodPost, Path: "/eth/v1/builder/validators", Body: body,
		Header: map[string]string{"Content-Type": jsonType}})
	if err != nil {
		return fmt.Errorf("register validators: %w", err)
	}
	if answer.Status != http.StatusOK {
		return fmt.Errorf("register validators: %s", answer)
	}
	slots, err := s.listed(ctx)
	if err == nil && len(slots) == 0 {
		err = errUnlisted
	}
	return err
}

// listed returns the slots for which the relay lists the proposer with the registration of the
// feed.
func (s *stage) listed(ctx context.Context) (slots []phase0.Slot, err error) {
	answer, err := s.relay.Do(ctx, probe.Request{Method: http.MethodGet, Path: "/relay/v1/builder/validators"})
	if err != nil {
		return nil, fmt.Errorf("list proposers: %w", err)
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("list proposers: %s", answer)
	}
	var list []struct {
		Slot  string                                 `json:"slot"`
		Index string                                 `json:"validator_index"`
		Entry *builderv1.SignedValidatorRegistration `json:"entry"`
	}
	if err := answer.JSON(&list); err != nil {
		return nil, fmt.Errorf("list proposers: %w", err)
	}
	for _, duty := range list {
		slot, err1 := strconv.ParseUint(duty.Slot, 10, 64)
		index, err2 := strconv.ParseUint(duty.Index, 10, 64)
		if err1 == nil && err2 == nil && duty.Entry != nil && duty.Entry.Message != nil &&
			duty.Entry.Message.FeeRecipient == payee(phase0.ValidatorIndex(index)) {
			slots = append(slots, phase0.Slot(slot))
		}
	}
	return slots, nil
}

// mostUnlisted is how many slots are left alone because the relay does not list their proposers.
const mostUnlisted = 8

// open waits for a slot whose proposer is registered. The world proposes no block in it.
func (s *stage) open(ctx context.Context) (*held, error) {
	for range mostUnlisted {
		slot, err := s.world.Slot(ctx, world.Wanted{Kind: world.Registered, Propose: true, Hurry: true})
		if err != nil {
			return nil, err
		}
		given := s.clock.Now()
		listed, err := s.listed(ctx)
		if err != nil {
			return nil, err
		}
		if slices.Contains(listed, slot.Slot) {
			fork, version := s.world.Facts.ForkAt(slot.Slot)
			return &held{stage: s, slot: slot, fork: fork, version: version, givenAt: given,
				proposer: s.validators[slot.ValidatorIndex], start: s.world.Facts.Start(slot)}, nil
		}
	}
	return nil, fmt.Errorf("the relay lists the proposers of none of %d slots in a row", mostUnlisted)
}

// held is a slot of the world in which an archived auction is held again.
type held struct {
	*stage

	slot     *world.Slot
	fork     eth.Fork
	version  string // of the fork, in the domain of the proposer's signatures
	proposer *probe.BLSKey
	// start is when the slot begins, and givenAt when its bids could be made at the earliest.
	start, givenAt time.Time
}

// domain returns the domain of a purpose in the fork of the slot.
func (h *held) domain(purpose phase0.DomainType) (phase0.Domain, error) {
	version, err := unhex(h.version)
	if err != nil {
		return phase0.Domain{}, fmt.Errorf("read the world's fork version: %w", err)
	}
	root, err := unhex(h.world.Facts.GenesisValidatorsRoot)
	if err != nil {
		return phase0.Domain{}, fmt.Errorf("read the world's genesis validators root: %w", err)
	}
	return probe.Domain(purpose, phase0.Version(version), phase0.Root(root)), nil
}
