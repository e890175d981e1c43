package scripted

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// BuilderSecret is the secret key with which a builder signs that the run starts. Mutants need it,
// because they change what is signed.
func BuilderSecret() [32]byte {
	secret := sha256.Sum256([]byte("gavel conformance: builder"))
	secret[0] = 0 // so that it is below the curve's order
	return secret
}

// Auctions are the relays that a builder bids at, in a world. They list the world's validators as
// registered proposers, remember what comes, and know from the beacon node what a block must be.
//
//	beacon node ─attributes, duties─▶ Auctions ─▶ relays a, b, c ◀──duties, submissions── builder under test
//	spec ◀──────────────submissions, what they should be───┘
//
// Proposers are listed only while specs watch, so that a builder has nothing to do afterwards. All
// is safe for concurrent use.
type Auctions struct {
	*Relays
	World *world.Client
	Clock clock.Clock
	Fork  eth.Fork

	beacon, node, validation *probe.Client
	keys                     []*probe.BLSKey
	stop                     context.CancelFunc
	group                    *errgroup.Group

	mu         sync.Mutex // guards the fields below
	watching   int
	attributes map[phase0.Slot][]eth.PayloadAttributes
	proposers  map[phase0.Slot]phase0.ValidatorIndex
	registered map[phase0.ValidatorIndex][]*builderv1.SignedValidatorRegistration // the newest last
	claimed    map[phase0.Slot]bool
	verdicts   map[[32]byte]func() Verdict
	limits     map[phase0.Hash32]uint64
}

// OpenAuctions opens the relays in a world. The address is Config's Listen. The caller must call
// Close.
func OpenAuctions(ctx context.Context, around *world.Client, by clock.Clock, address string) (*Auctions, error) {
	f := around.Facts
	ask := func(address string) *probe.Client { return probe.NewClient(address, nil, 10*time.Second).By(by) }
	a := &Auctions{
		World: around, Clock: by, Fork: f.ForkOf(), beacon: ask(f.BeaconURL), node: ask(f.ExecutionURL),
		validation: ask(f.ValidationURL), group: new(errgroup.Group),
		attributes: map[phase0.Slot][]eth.PayloadAttributes{}, proposers: map[phase0.Slot]phase0.ValidatorIndex{},
		registered: map[phase0.ValidatorIndex][]*builderv1.SignedValidatorRegistration{},
		claimed:    map[phase0.Slot]bool{}, verdicts: map[[32]byte]func() Verdict{}, limits: map[phase0.Hash32]uint64{},
	}
	network := Network{GenesisTime: time.Unix(f.GenesisTime, 0), Slot: f.Slots(1), Fork: a.Fork}
	if err := eth.ParseHex(f.GenesisForkVersion, network.GenesisForkVersion[:]); err != nil {
		return nil, fmt.Errorf("read the world's genesis fork version: %w", err)
	}
	for i, text := range f.ValidatorKeys {
		var secret [32]byte
		if err := eth.ParseHex(text, secret[:]); err != nil {
			return nil, fmt.Errorf("read the key of validator %d: %w", i, err)
		}
		key, err := probe.ParseBLSKey(secret[:])
		if err != nil {
			return nil, fmt.Errorf("read the key of validator %d: %w", i, err)
		}
		a.keys = append(a.keys, key)
	}
	var err error
	if a.Relays, err = listen(Config{Network: network, Listen: address, auctions: a}); err != nil {
		return nil, err
	}
	for i := range a.keys {
		if i != f.Stranger() {
			a.Register(phase0.ValidatorIndex(i), payee(i, 0), gasLimits[i%len(gasLimits)])
		}
	}
	a.serve() // a builder that runs already asks at once
	ctx, a.stop = context.WithCancel(ctx)
	a.group.Go(func() error { return a.follow(ctx) })
	return a, nil
}

// gasLimits are what validators register: what the chain has, less, and more.
var gasLimits = []uint64{60_000_000, 30_000_000, 90_000_000}

// payee is a validator's fee recipient, of which there may be one after another.
func payee(index, turn int) bellatrix.ExecutionAddress {
	sum := sha256.Sum256(fmt.Appendf(nil, "payee %d of validator %d", turn, index))
	return bellatrix.ExecutionAddress(sum[:20])
}

// Close ends the relays.
func (a *Auctions) Close() error {
	a.stop()
	return errors.Join(a.Relays.Close(), a.group.Wait())
}

// Register has the relays list a registration of a validator from now on.
func (a *Auctions) Register(index phase0.ValidatorIndex, to bellatrix.ExecutionAddress, gasLimit uint64) {
	key := a.keys[index]
	r := &builderv1.SignedValidatorRegistration{Message: &builderv1.ValidatorRegistration{
		FeeRecipient: to, GasLimit: gasLimit, Timestamp: a.Clock.Now().Truncate(time.Second), Pubkey: key.Public,
	}}
	root, err := r.Message.HashTreeRoot()
	if err != nil {
		panic(fmt.Sprintf("hash a registration of the suite: %v", err)) // all its fields have fixed sizes
	}
	r.Signature = key.Sign(probe.SigningRoot(root, a.Network.BuilderDomain()))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.registered[index] = append(a.registered[index], r)
}

// Renew registers another fee recipient and gas limit of a validator, and returns the registration.
func (a *Auctions) Renew(index phase0.ValidatorIndex) *builderv1.ValidatorRegistration {
	a.mu.Lock()
	turn := len(a.registered[index])
	a.mu.Unlock()
	a.Register(index, payee(int(index), turn), gasLimits[(int(index)+turn)%len(gasLimits)])
	list := a.Registrations(index)
	return list[len(list)-1]
}

// Registrations returns what a validator has registered, the newest last.
func (a *Auctions) Registrations(index phase0.ValidatorIndex) (list []*builderv1.ValidatorRegistration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.registered[index] {
		list = append(list, r.Message)
	}
	return list
}

// Watch has the relays list proposers until the returned function is called.
func (a *Auctions) Watch() (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watching++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watching--
	}
}

// Now returns the slot that is running.
func (a *Auctions) Now() phase0.Slot { return a.Network.At(a.Clock.Now()) }

// Proposer returns who proposes in a slot, as far as the beacon node has told.
func (a *Auctions) Proposer(slot phase0.Slot) (index phase0.ValidatorIndex, key phase0.BLSPubKey, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if index, known = a.proposers[slot]; known {
		key = a.keys[index].Public
	}
	return index, key, known
}

// Listed says whether a slot's proposer is known and registered.
func (a *Auctions) Listed(slot phase0.Slot) bool {
	index, _, known := a.Proposer(slot)
	return known && int(index) != a.World.Facts.Stranger()
}

// Attributes returns what the beacon node has announced for a slot, oldest first.
func (a *Auctions) Attributes(slot phase0.Slot) []eth.PayloadAttributes {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]eth.PayloadAttributes(nil), a.attributes[slot]...)
}

// AttributesOn returns the attributes of a slot on a parent.
func (a *Auctions) AttributesOn(slot phase0.Slot, parent phase0.Hash32) (found eth.PayloadAttributes, known bool) {
	for _, one := range a.Attributes(slot) {
		if one.ParentHash == parent {
			found, known = one, true // the newest
		}
	}
	return found, known
}

// Claim returns a slot of a registered proposer that no other spec has, and for which builders have
// not begun to build. It waits until there is one; the error is the context's.
func (a *Auctions) Claim(ctx context.Context) (phase0.Slot, error) { return a.ClaimAround(ctx, 0, 0) }

// ClaimAround is Claim for a spec that disturbs the auctions around its slot too: no other spec has
// one of so many slots before it and after it.
func (a *Auctions) ClaimAround(ctx context.Context, before, after phase0.Slot) (phase0.Slot, error) {
	return a.claimWhere(ctx, before, after, a.Listed)
}

// ClaimOf is Claim for a slot of one proposer, which is no earlier than from.
func (a *Auctions) ClaimOf(ctx context.Context, index phase0.ValidatorIndex, from phase0.Slot) (phase0.Slot, error) {
	return a.claimWhere(ctx, 0, 0, func(slot phase0.Slot) bool {
		who, _, known := a.Proposer(slot)
		return known && who == index && slot >= from
	})
}

// claimWhere waits until there is a slot that fits and that no other spec has, and gives it to the
// caller.
func (a *Auctions) claimWhere(ctx context.Context, before, after phase0.Slot,
	fits func(phase0.Slot) bool) (phase0.Slot, error) {
	for {
		from := a.Now() + 2 + before // the next one is built for already
		for slot := from; slot < from+phase0.Slot(2*a.World.Facts.SlotsPerEpoch); slot++ {
			if fits(slot) && a.takeSlots(slot-before, slot+after) {
				return slot, nil
			}
		}
		if err := a.Clock.Until(ctx, a.Clock.Now().Add(a.Network.Slot)); err != nil {
			return 0, err
		}
	}
}

// takeSlots gives all slots from first to last to a spec, unless another spec has one of them.
func (a *Auctions) takeSlots(first, last phase0.Slot) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for slot := first; slot <= last; slot++ {
		if a.claimed[slot] {
			return false
		}
	}
	for slot := first; slot <= last; slot++ {
		a.claimed[slot] = true
	}
	return true
}

// Submissions returns what came to all relays, each relay's oldest first.
func (a *Auctions) Submissions() (list []*Submission) {
	for _, relay := range a.All {
		for _, asked := range relay.Heard(Submit, nil) {
			list = append(list, asked.Submission)
		}
	}
	return list
}

// For returns what came to a relay for a slot, oldest first.
func (a *Auctions) For(relay *Relay, slot phase0.Slot) (list []*Submission) {
	for _, asked := range relay.Heard(Submit, nil) {
		if asked.Submission.Slot == slot {
			list = append(list, asked.Submission)
		}
	}
	return list
}

// follow reads the beacon node's events and duties until the context ends.
func (a *Auctions) follow(ctx context.Context) error {
	a.readDuties(ctx)
	for ctx.Err() == nil {
		stream, err := a.beacon.Open(ctx, "/eth/v1/events?topics=payload_attributes", nil)
		if err != nil {
			_ = a.Clock.Until(ctx, a.Clock.Now().Add(a.Network.Slot/10)) // the loop looks at the context
			continue
		}
		stream.Wait(a.Network.Slot*100, func(event string) bool {
			if attributes, err := eth.ParsePayloadAttributes([]byte(event)); err == nil {
				a.learn(attributes)
				a.readDuties(ctx)
			}
			return ctx.Err() != nil
		})
		stream.Close()
	}
	return nil
}

// learn remembers attributes; the same may come twice.
func (a *Auctions) learn(one eth.PayloadAttributes) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, known := range a.attributes[one.Slot] {
		if known.Same(one) {
			return
		}
	}
	a.attributes[one.Slot] = append(a.attributes[one.Slot], one)
}

// readDuties asks who proposes in this epoch and the next, if that is not known yet. A failure is
// tried again with the next slot.
func (a *Auctions) readDuties(ctx context.Context) {
	epoch := uint64(a.Now()) / a.World.Facts.SlotsPerEpoch
	for _, one := range []uint64{epoch, epoch + 1} {
		if _, _, known := a.Proposer(phase0.Slot((one+1)*a.World.Facts.SlotsPerEpoch - 1)); known {
			continue
		}
		answer, err := a.beacon.Do(ctx, probe.Request{Method: http.MethodGet,
			Path: fmt.Sprintf("/eth/v1/validator/duties/proposer/%d", one)})
		if err != nil || answer.Status != http.StatusOK {
			continue
		}
		var said struct {
			Data []struct {
				Slot  uint64 `json:"slot,string"`
				Index uint64 `json:"validator_index,string"`
			} `json:"data"`
		}
		if answer.JSON(&said) != nil {
			continue
		}
		a.mu.Lock()
		for _, duty := range said.Data {
			a.proposers[phase0.Slot(duty.Slot)] = phase0.ValidatorIndex(duty.Index)
		}
		a.mu.Unlock()
	}
}

// tellDuties answers a builder that asks for registered proposers: those of this epoch and of the
// next.
func (a *Auctions) tellDuties(ctx context.Context, w http.ResponseWriter, asked Asked) {
	type entry struct {
		Slot  uint64                                 `json:"slot,string"`
		Index uint64                                 `json:"validator_index,string"`
		Entry *builderv1.SignedValidatorRegistration `json:"entry"`
	}
	list := []entry{}
	perEpoch := phase0.Slot(a.World.Facts.SlotsPerEpoch)
	first := a.Now() / perEpoch * perEpoch
	for slot := first; slot < first+2*perEpoch; slot++ {
		a.mu.Lock()
		index, known := a.proposers[slot]
		if of := a.registered[index]; known && a.watching > 0 && len(of) > 0 {
			list = append(list, entry{uint64(slot), uint64(index), of[len(of)-1]})
		}
		a.mu.Unlock()
	}
	raw, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("encode registrations of the suite: %v", err))
	}
	Raw(http.StatusOK, jsonType, "", raw)(ctx, w, asked)
}

// HalfASlotLater takes a submission, and answers half a slot later.
func HalfASlotLater(ctx context.Context, w http.ResponseWriter, asked Asked) {
	a := asked.Submission.Relay.auctions
	if a.Clock.Until(ctx, asked.At.Add(a.Network.Slot/2)) == nil {
		Say(http.StatusOK)(ctx, w, asked)
	}
}

// Verdict is what the world's validation node says of a block.
type Verdict struct {
	// PaidWei is what the block pays to the fee recipient, in decimal digits; empty if it is refused.
	PaidWei string
	// Refused is why the node refuses the block; empty if it does not.
	Refused string
	// Err is why there is no verdict.
	Err error
}

// Validate has the world's node execute a submission's block as the block of a message that agrees
// with it and promises nothing, so that nothing but the block itself counts.
func (a *Auctions) Validate(ctx context.Context, s *Submission) Verdict {
	at, known := a.AttributesOn(s.Slot, s.Block.ExecutionPayload.ParentHash)
	if !known {
		return Verdict{Err: errors.New("the block is on a parent that was not announced")}
	}
	agreed := *s.Block
	message := *s.Block.Message
	payload := s.Block.ExecutionPayload
	message.ParentHash, message.BlockHash, message.GasLimit, message.GasUsed = payload.ParentHash, payload.BlockHash,
		payload.GasLimit, payload.GasUsed
	paid := message.Value
	message.Value = paid.Clone().Clear()
	agreed.Message = &message
	raw, err := probe.Submission(s.Fork, &agreed).MarshalJSON()
	if err != nil {
		return Verdict{Err: fmt.Errorf("encode the block for the validation node: %w", err)}
	}
	raw = append(bytes.TrimSuffix(raw, []byte("}")), fmt.Appendf(nil,
		`,"registered_gas_limit":"%d","parent_beacon_block_root":"%#x"}`, payload.GasLimit, at.ParentRoot[:])...)
	key := sha256.Sum256(raw)
	a.mu.Lock()
	ask, asked := a.verdicts[key]
	if !asked {
		ask = sync.OnceValue(func() Verdict { return a.validate(context.WithoutCancel(ctx), s.Fork, raw) })
		a.verdicts[key] = ask
	}
	a.mu.Unlock()
	return ask()
}

func (a *Auctions) validate(ctx context.Context, fork eth.Fork, raw []byte) Verdict {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":[%s]}`, fork.Validation().Method, raw)
	var said struct {
		Result *struct {
			BlockValue string `json:"block_value"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := call(ctx, a.validation, body, &said); err != nil {
		return Verdict{Err: err}
	}
	switch {
	case said.Error != nil:
		return Verdict{Refused: said.Error.Message}
	case said.Result == nil:
		return Verdict{Err: errors.New("the validation node answers nothing")}
	default:
		return Verdict{PaidWei: said.Result.BlockValue}
	}
}

// ParentGasLimit returns the gas limit of a block of the world's chain.
func (a *Auctions) ParentGasLimit(ctx context.Context, hash phase0.Hash32) (uint64, error) {
	a.mu.Lock()
	limit, known := a.limits[hash]
	a.mu.Unlock()
	if known {
		return limit, nil
	}
	var said struct {
		Result *struct {
			GasLimit string `json:"gasLimit"`
		} `json:"result"`
	}
	err := call(ctx, a.node, fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByHash","params":["%#x",false]}`, hash[:]), &said)
	if err != nil {
		return 0, err
	}
	if said.Result == nil {
		return 0, fmt.Errorf("the execution node has no block %#x", hash[:])
	}
	if _, err := fmt.Sscanf(strings.TrimPrefix(said.Result.GasLimit, "0x"), "%x", &limit); err != nil {
		return 0, fmt.Errorf("read a gas limit: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits[hash] = limit
	return limit, nil
}

// call posts JSON-RPC to a node of the world.
func call(ctx context.Context, node *probe.Client, body []byte, into any) error {
	answer, err := node.Do(ctx, probe.Request{Method: http.MethodPost, Path: "/", Body: body,
		Header: map[string]string{"Content-Type": jsonType}})
	if err != nil {
		return fmt.Errorf("ask a node of the world: %w", err)
	}
	return answer.JSON(into)
}
