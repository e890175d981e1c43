package epbs

import (
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

const ether phase0.Gwei = 1_000_000_000

// rules are those of a network with four slots an epoch, whose committees have 100 ether a slot.
// Each payload has a withdrawal of one validator.
func rules() *Rules {
	return &Rules{
		Spec: &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
			Forks: []eth.ForkPoint{{Fork: eth.Gloas, Version: phase0.Version{7}}}},
		SlotStake: 100 * ether,
		ValidatorWithdrawals: func(next uint64) []*capella.Withdrawal {
			return []*capella.Withdrawal{{Index: capella.WithdrawalIndex(next), ValidatorIndex: 3, Amount: 5}}
		},
	}
}

// promise is a bid with a value, as the model remembers it.
type promise struct {
	slot          phase0.Slot
	value, weight phase0.Gwei
	recipient     bellatrix.ExecutionAddress
	open          bool
}

// history is a chain, and beside it a model of who was paid, which knows nothing of how the state
// counts: every promise is open until it is owed or void, and what is owed must arrive.
type history struct {
	t        *rapid.T
	rules    *Rules
	state    *State
	root     byte
	requests *gloas.ExecutionRequests // of the newest payload
	full     bool                     // the newest payload counts, since a block is on it

	promises  []*promise
	deposited phase0.Gwei
	owed      map[bellatrix.ExecutionAddress]phase0.Gwei
	received  map[bellatrix.ExecutionAddress]phase0.Gwei // by payloads that were revealed
	returned  phase0.Gwei                                // to builders who have left, by such payloads
}

func begin(t *rapid.T, balances ...phase0.Gwei) *history {
	h := &history{
		t: t, rules: rules(), requests: new(gloas.ExecutionRequests), full: true,
		owed: map[bellatrix.ExecutionAddress]phase0.Gwei{}, received: map[bellatrix.ExecutionAddress]phase0.Gwei{},
	}
	var builders []gloas.Builder
	for i, balance := range balances {
		builders = append(builders, gloas.Builder{
			Pubkey: bls.Derive("builder", uint64(i)).PublicKey(), Balance: balance, WithdrawableEpoch: gloas.FarFuture,
			ExecutionAddress: bellatrix.ExecutionAddress{0xb0, byte(i)},
		})
		h.deposited += balance
	}
	var err error
	if h.state, err = First(h.rules, 0, phase0.Hash32{0xff}, 10, builders); err != nil {
		t.Fatal(err)
	}
	return h
}

// extend adds a block for a slot on the FULL or the EMPTY parent, whose payload has requests.
func (h *history) extend(slot phase0.Slot, onFull bool, builder gloas.BuilderIndex, value phase0.Gwei,
	recipient bellatrix.ExecutionAddress, requests *gloas.ExecutionRequests, votes []Vote, slashed []phase0.Slot) {
	h.t.Helper()
	before := h.state
	parent, parentRequests := before.LatestBid.BlockHash, h.requests
	if !onFull {
		parent, parentRequests = before.LatestBlockHash, new(gloas.ExecutionRequests)
	}
	promised := before.Withdrawals(h.rules, slot, onFull, parentRequests)
	root, err := gloas.Mainnet.ExecutionRequests.Root(requests)
	if err != nil {
		h.t.Fatal(err)
	}
	b := &Block{
		Slot: slot, ParentRoot: phase0.Root{h.root}, ParentRequests: parentRequests, Votes: votes, Slashed: slashed,
		FinalEpoch: 1, Bid: &gloas.SignedExecutionPayloadBid{
			Signature: infinity, Message: &gloas.ExecutionPayloadBid{
				ParentBlockHash: parent, ParentBlockRoot: phase0.Root{h.root}, BlockHash: hashOf(slot), Slot: slot,
				BuilderIndex: builder, Value: value, FeeRecipient: recipient, ExecutionRequestsRoot: root,
			},
		},
	}
	if builder != gloas.SelfBuild {
		sign(h.t, h.rules, b.Bid, uint64(builder))
	}
	copied := before.clone()
	after, err := before.Block(h.rules, b)
	if err != nil {
		h.t.Fatalf("slot %d: %v", slot, err)
	}
	if again, err := before.Block(h.rules, b); err != nil || !reflect.DeepEqual(again, after) ||
		!reflect.DeepEqual(copied, before) {
		h.t.Fatalf("slot %d: a block changes its parent's state, or the second time another thing: %v", slot, err)
	}
	if !reflect.DeepEqual(after.ExpectedWithdrawals, promised) {
		h.t.Fatalf("slot %d: the payload must have %v, announced was %v", slot, after.ExpectedWithdrawals, promised)
	}
	h.count(before, slot, onFull, votes, slashed)
	if value > 0 {
		h.promises = append(h.promises, &promise{slot: slot, value: value, recipient: recipient, open: true})
	}
	h.state, h.root, h.requests = after, h.root+1, requests
}

// count lets the model follow a block.
func (h *history) count(before *State, slot phase0.Slot, onFull bool, votes []Vote, slashed []phase0.Slot) {
	epoch := h.rules.Spec.EpochOf(slot)
	for _, p := range h.promises {
		if p.open && h.rules.Spec.EpochOf(p.slot)+1 < epoch { // the epoch after its own is over
			p.open = false
			if p.weight >= h.rules.SlotStake*6/10 {
				h.owed[p.recipient] += p.value
			}
		}
	}
	if onFull {
		for _, w := range before.ExpectedWithdrawals { // the payload is revealed, with what it had to have
			switch {
			case w.ValidatorIndex < builderFlag:
			case w.Address[0] == 0xb0:
				h.returned += w.Amount
			default:
				h.received[w.Address] += w.Amount
			}
		}
		for _, deposit := range h.requests.BuilderDeposits {
			h.deposited += deposit.Amount
		}
		for _, p := range h.promises {
			if p.open && p.slot == before.LatestBid.Slot {
				p.open = false
				h.owed[p.recipient] += p.value
			}
		}
	}
	for _, p := range h.promises {
		for _, s := range slashed {
			if p.slot == s && h.rules.Spec.EpochOf(s)+1 >= epoch {
				p.open = false
			}
		}
		for _, v := range votes {
			if p.slot == v.Slot && p.open {
				p.weight += v.Weight
			}
		}
	}
}

// check compares state and model, to the Gwei.
func (h *history) check() {
	h.t.Helper()
	var have, promised, open phase0.Gwei
	for i, b := range h.state.Builders {
		if b.Balance > h.deposited {
			h.t.Fatalf("builder %d has %d of %d", i, b.Balance, h.deposited)
		}
		have += b.Balance
	}
	outstanding := map[bellatrix.ExecutionAddress]phase0.Gwei{}
	var leaving phase0.Gwei
	for _, w := range h.state.ExpectedWithdrawals { // taken from balances, and in no revealed payload yet
		if w.ValidatorIndex >= builderFlag {
			have += w.Amount
			if w.Address[0] == 0xb0 {
				leaving += w.Amount
			} else {
				outstanding[w.Address] += w.Amount
			}
		}
	}
	var gone phase0.Gwei
	for _, amount := range h.received {
		gone += amount
	}
	if total := have + gone + h.returned; total != h.deposited {
		h.t.Fatalf("%d Gwei of %d: %d are here, %d with proposers, %d with former builders", total, h.deposited, have, gone,
			h.returned)
	}
	for _, w := range h.state.PendingWithdrawals {
		outstanding[w.FeeRecipient] += w.Amount
	}
	for address, owed := range h.owed {
		if got := h.received[address] + outstanding[address]; got != owed {
			h.t.Fatalf("%#x has got or will get %d, the model says %d", address[:2], got, owed)
		}
	}
	for _, p := range h.promises {
		if p.open {
			open += p.value
		}
	}
	for _, p := range h.state.PendingPayments {
		if p.Withdrawal != nil {
			promised += p.Withdrawal.Amount
		}
	}
	if promised != open {
		h.t.Fatalf("%d are promised, the model says %d", promised, open)
	}
}

func hashOf(slot phase0.Slot) (hash phase0.Hash32) {
	binary.BigEndian.PutUint64(hash[:], uint64(slot))
	return hash
}

func sign(t rapid.TB, r *Rules, bid *gloas.SignedExecutionPayloadBid, key uint64) {
	t.Helper()
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(bid.Message)
	if err != nil {
		t.Fatal(err)
	}
	bid.Signature = bls.Derive("builder", key).Sign(eth.SigningRoot(root, gloas.BuilderDomain(r.Spec, bid.Message.Slot)))
}

// Over any history of bids, missed slots, payloads that are revealed or not, votes, slashings,
// deposits and exits, no Gwei comes or goes: builders pay exactly what they owe, once, to whom they
// owe it. Payloads on an EMPTY parent repeat the withdrawals of the one that is missing.
func TestBalancesAreConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := begin(t, 40*ether, 3*ether, ether)
		slot := phase0.Slot(7) // so that epoch 0 is over, and the deposits of builders count as final
		for range rapid.IntRange(1, 24).Draw(t, "blocks") {
			slot += phase0.Slot(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 3, 5, 9}).Draw(t, "slots"))
			next := h.state.Advance(h.rules, slot)
			builder, value := gloas.SelfBuild, phase0.Gwei(0)
			// The newest payload of the fork before has no block that could leave it out.
			onFull := rapid.Bool().Draw(t, "full") || h.state.parentIsFull()
			if index := gloas.BuilderIndex(rapid.IntRange(0, 3).Draw(t, "builder")); index < 3 && next.Active(index, 1) &&
				!leaves(next, h.requests, index) {
				builder = index
				free := next.Free(index)
				value = phase0.Gwei(rapid.Uint64Range(0, uint64(min(free, 10*ether))).Draw(t, "value"))
			}
			requests := new(gloas.ExecutionRequests)
			switch rapid.IntRange(0, 9).Draw(t, "request") {
			case 0:
				requests.BuilderDeposits = []*gloas.BuilderDepositRequest{{
					Pubkey: h.state.Builders[1].Pubkey, Amount: phase0.Gwei(rapid.Uint64Range(1, uint64(5*ether)).Draw(t, "deposit")),
				}}
			case 1:
				leaving := rapid.IntRange(1, 2).Draw(t, "leaving")
				requests.BuilderExits = []*gloas.BuilderExitRequest{{
					Pubkey: h.state.Builders[leaving].Pubkey, SourceAddress: h.state.Builders[leaving].ExecutionAddress,
				}}
			}
			var votes []Vote
			var slashed []phase0.Slot
			if rapid.Bool().Draw(t, "voted") {
				weight := rapid.SampledFrom([]phase0.Gwei{30 * ether, 60*ether - 1, 60 * ether, 100 * ether}).Draw(t, "weight")
				votes = []Vote{{h.state.LatestBid.Slot, weight}}
			}
			if rapid.IntRange(0, 7).Draw(t, "slashed") == 0 {
				slashed = []phase0.Slot{h.state.LatestBid.Slot}
			}
			h.extend(slot, onFull, builder, value, bellatrix.ExecutionAddress{1, byte(slot % 3)}, requests, votes, slashed)
			h.check()
		}
		// After three epochs in which all payloads are revealed, nothing is open any more, and everybody
		// has what is theirs. Who has left has its balance after 64 epochs.
		for _, wait := range []phase0.Slot{1, 8, 4 * 65, 1, 1} {
			slot += wait
			h.extend(slot, true, gloas.SelfBuild, 0, bellatrix.ExecutionAddress{}, new(gloas.ExecutionRequests), nil, nil)
			h.check()
		}
		if len(h.state.PendingWithdrawals) > 0 || h.state.Owed(0)+h.state.Owed(1)+h.state.Owed(2) > 0 {
			t.Errorf("still owed: %+v", h.state.PendingWithdrawals)
		}
		for address, owed := range h.owed {
			if h.received[address] != owed {
				t.Errorf("%#x has got %d of %d", address[:2], h.received[address], owed)
			}
		}
	})
}

// leaves says whether a payload's requests let a builder go, so that it may not bid after it.
func leaves(s *State, requests *gloas.ExecutionRequests, index gloas.BuilderIndex) bool {
	for _, exit := range requests.BuilderExits {
		if exit.Pubkey == s.Builders[index].Pubkey {
			return true
		}
	}
	return false
}
