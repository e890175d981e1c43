package epbs

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
)

// started is a state with one builder that has 10 ether, and a block on it that the builder pays 2
// ether for.
func started(t *testing.T) (*Rules, *State, *Block) {
	t.Helper()
	r := rules()
	s, err := First(r, 7, phase0.Hash32{0xff}, 0, []gloas.Builder{{
		Pubkey: bls.Derive("builder", 0).PublicKey(), Balance: 10 * ether, WithdrawableEpoch: gloas.FarFuture,
		ExecutionAddress: bellatrix.ExecutionAddress{0xb0},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r, s, &Block{
		Slot: 8, ParentRoot: phase0.Root{1}, PrevRandao: phase0.Root{2}, FinalEpoch: 1,
		ParentRequests: new(gloas.ExecutionRequests),
		Bid: &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{
			ParentBlockHash: phase0.Hash32{0xff}, ParentBlockRoot: phase0.Root{1}, PrevRandao: phase0.Root{2}, Slot: 8,
			BlockHash: phase0.Hash32{8}, Value: 2 * ether,
		}},
	}
}

// Each rule of a block refuses what breaks it, by its name; without a change the block passes.
func TestBlocksThatBreakRules(t *testing.T) {
	for name, row := range map[string]struct {
		change func(r *Rules, s *State, b *Block)
		rule   string
	}{
		"good":                   {func(*Rules, *State, *Block) {}, ""},
		"all that a builder has": {func(_ *Rules, _ *State, b *Block) { b.Bid.Message.Value = 9 * ether }, ""},
		"a Gwei more":            {func(_ *Rules, _ *State, b *Block) { b.Bid.Message.Value = 9*ether + 1 }, "bid value"},
		"owed already": {func(_ *Rules, s *State, _ *Block) {
			s.PendingWithdrawals = owing(8 * ether)
		}, "bid value"},
		"the parent's slot":       {func(_ *Rules, _ *State, b *Block) { b.Slot = 7 }, "slot"},
		"another slot in the bid": {func(_ *Rules, _ *State, b *Block) { b.Bid.Message.Slot = 9 }, "bid slot"},
		"no builder":              {func(_ *Rules, _ *State, b *Block) { b.Bid.Message.BuilderIndex = 1 }, "bid builder"},
		"a builder beyond 2^63": {func(_ *Rules, _ *State, b *Block) {
			b.Bid.Message.BuilderIndex = 1 << 63
		}, "bid builder"},
		"a deposit that is not final": {func(_ *Rules, s *State, _ *Block) { s.Builders[0].DepositEpoch = 1 },
			"bid builder"},
		"a builder that leaves": {func(_ *Rules, s *State, _ *Block) {
			s.Builders[0].WithdrawableEpoch = 70
		}, "bid builder"},
		"a builder of version 1": {func(_ *Rules, s *State, _ *Block) { s.Builders[0].Version = 1 }, "bid builder"},
		"another builder's key":  {func(_ *Rules, s *State, _ *Block) { s.Builders[0].Pubkey[5] ^= 1 }, "bid signature"},
		"another parent root": {func(_ *Rules, _ *State, b *Block) {
			b.Bid.Message.ParentBlockRoot[0]++
		}, "bid parent root"},
		"another randao": {func(_ *Rules, _ *State, b *Block) { b.Bid.Message.PrevRandao[0]++ }, "bid randao"},
		"an unknown parent": {func(_ *Rules, _ *State, b *Block) {
			b.Bid.Message.ParentBlockHash[0]--
		}, "bid parent hash"},
		"its own parent": {func(_ *Rules, _ *State, b *Block) {
			b.Bid.Message.BlockHash[0] = 0xff
		}, "bid block hash"},
		"too many blobs":         {withBlobs, "bid blobs"},
		"requests of no payload": {func(_ *Rules, s *State, b *Block) { onEmpty(s, b) }, "parent requests"},
		"requests that no bid had": {func(_ *Rules, _ *State, b *Block) {
			b.ParentRequests.BuilderExits = []*gloas.BuilderExitRequest{{}}
		}, "parent requests"},
		"a self-build that pays": {func(_ *Rules, _ *State, b *Block) {
			b.Bid.Message.BuilderIndex = gloas.SelfBuild
		}, "self-build"},
		"a signature on a self-build": {selfBuild(phase0.BLSSignature{1}), "self-build"},
		"a self-build":                {selfBuild(infinity), ""},
		"value 0 of a poor builder": {func(_ *Rules, s *State, b *Block) {
			s.Builders[0].Balance, b.Bid.Message.Value = 1, 0
		}, ""},
		"value 1 of a poor builder": {func(_ *Rules, s *State, b *Block) {
			s.Builders[0].Balance, b.Bid.Message.Value = 1, 1
		}, "bid value"},
		"no value of 18 billion ether": {func(_ *Rules, _ *State, b *Block) {
			b.Bid.Message.Value = math.MaxUint64
		}, "bid value"},
		"a signature of another message": {func(_ *Rules, _ *State, b *Block) {
			b.Bid.Message.ExecutionPayment = math.MaxUint64
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, s, b := started(t)
			row.change(r, s, b)
			if b.Bid.Message.BuilderIndex != gloas.SelfBuild {
				sign(t, r, b.Bid, 0)
			}
			_, err := s.Block(r, b)
			var wrong *BrokenError
			if (row.rule == "") != (err == nil) || err != nil && (!errors.As(err, &wrong) || wrong.Rule != row.rule) {
				t.Errorf("%v, want %q", err, row.rule)
			}
		})
	}
}

func owing(amount phase0.Gwei) []gloas.BuilderPendingWithdrawal {
	return []gloas.BuilderPendingWithdrawal{{Amount: amount}}
}

// onEmpty lets the block leave out its parent's payload, and have its requests all the same.
func onEmpty(s *State, b *Block) {
	s.LatestBid.BlockHash = phase0.Hash32{0xee}
	b.ParentRequests.BuilderExits = []*gloas.BuilderExitRequest{{}}
}

func withBlobs(_ *Rules, _ *State, b *Block) {
	b.Bid.Message.BlobKZGCommitments = make([]deneb.KZGCommitment, 10)
}

func selfBuild(signature phase0.BLSSignature) func(*Rules, *State, *Block) {
	return func(_ *Rules, _ *State, b *Block) {
		b.Bid.Message.BuilderIndex, b.Bid.Message.Value, b.Bid.Signature = gloas.SelfBuild, 0, signature
	}
}

// A bid whose signature is of another bid is refused.
func TestSignatureOfAnotherBid(t *testing.T) {
	r, s, b := started(t)
	sign(t, r, b.Bid, 0)
	b.Bid.Message.Value--
	var wrong *BrokenError
	if _, err := s.Block(r, b); !errors.As(err, &wrong) || wrong.Rule != "bid signature" {
		t.Errorf("%v", err)
	}
}

// A deposit makes a builder if its key has signed it and its credentials are a builder's. One for a
// builder that is there needs neither.
func TestDeposits(t *testing.T) {
	key := bls.Derive("builder", 9)
	for name, row := range map[string]struct {
		change   func(*gloas.BuilderDepositRequest)
		builders int
		balance  phase0.Gwei
	}{
		"good":                 {func(*gloas.BuilderDepositRequest) {}, 2, 3 * ether},
		"another signature":    {func(d *gloas.BuilderDepositRequest) { d.Signature[7] ^= 1 }, 1, 0},
		"another amount":       {func(d *gloas.BuilderDepositRequest) { d.Amount++ }, 1, 0},
		"a validator's prefix": {func(d *gloas.BuilderDepositRequest) { d.WithdrawalCredentials[0] = 1 }, 1, 0},
		"of a builder that is there": {func(d *gloas.BuilderDepositRequest) {
			*d = gloas.BuilderDepositRequest{Pubkey: bls.Derive("builder", 0).PublicKey(), Amount: 1}
		}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, s, _ := started(t)
			d := &gloas.BuilderDepositRequest{
				Pubkey: key.PublicKey(), Amount: 3 * ether, WithdrawalCredentials: phase0.Root{builderPrefix, 31: 0xad},
			}
			d.Signature = key.Sign(eth.SigningRoot(depositRoot(d), gloas.DepositDomain(r.Spec)))
			row.change(d)
			s.deposit(r, d)
			if len(s.Builders) != row.builders {
				t.Fatalf("%d builders, want %d", len(s.Builders), row.builders)
			}
			if row.builders == 2 {
				got := s.Builders[1]
				if got.Balance != row.balance || got.ExecutionAddress[19] != 0xad || got.DepositEpoch != 1 ||
					s.Active(1, 1) || !s.Active(1, 2) {
					t.Errorf("%+v", got)
				}
			}
			if name == "of a builder that is there" && s.Builders[0].Balance != 10*ether+1 {
				t.Errorf("balance %d", s.Builders[0].Balance)
			}
		})
	}
}

// A builder leaves if its own account asks for it and it owes nothing; what it has comes back to
// that account 64 epochs later.
func TestExits(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*State, *gloas.BuilderExitRequest)
		leaves bool
	}{
		"good":              {func(*State, *gloas.BuilderExitRequest) {}, true},
		"another account":   {func(_ *State, e *gloas.BuilderExitRequest) { e.SourceAddress[0]++ }, false},
		"an unknown key":    {func(_ *State, e *gloas.BuilderExitRequest) { e.Pubkey[0]++ }, false},
		"it owes a Gwei":    {func(s *State, _ *gloas.BuilderExitRequest) { s.PendingWithdrawals = owing(1) }, false},
		"it leaves already": {func(s *State, _ *gloas.BuilderExitRequest) { s.Builders[0].WithdrawableEpoch = 5 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, s, _ := started(t)
			e := &gloas.BuilderExitRequest{Pubkey: s.Builders[0].Pubkey, SourceAddress: s.Builders[0].ExecutionAddress}
			row.change(s, e)
			before := s.Builders[0].WithdrawableEpoch
			s.exit(r, e)
			if got := s.Builders[0].WithdrawableEpoch; (got == 1+exitDelay) != row.leaves || got != before && !row.leaves {
				t.Errorf("withdrawable in epoch %d, before in %d", got, before)
			}
			if !row.leaves {
				return
			}
			for slot, want := range map[phase0.Slot]int{4*(1+exitDelaySlots) - 1: 0, 4 * (1 + exitDelaySlots): 1} {
				next := s.Advance(r, slot)
				next.withdraw(r)
				if got := len(next.ExpectedWithdrawals) - 1; got != want { // and one of a validator
					t.Errorf("slot %d: %d withdrawals of builders, want %d", slot, got, want)
				}
				if want == 1 && (next.ExpectedWithdrawals[0].Amount != 10*ether || next.Builders[0].Balance != 0 ||
					next.ExpectedWithdrawals[0].Address != e.SourceAddress) {
					t.Errorf("%v", next.ExpectedWithdrawals[0])
				}
			}
		})
	}
}

const exitDelaySlots = phase0.Slot(exitDelay)

// A payload has at most 16 withdrawals, and one of them is always a validator's. What does not fit
// waits, in order.
func TestWithdrawalsThatDoNotFit(t *testing.T) {
	r, s, _ := started(t)
	for amount := range phase0.Gwei(20) {
		s.PendingWithdrawals = append(s.PendingWithdrawals, owing(amount+1)...)
	}
	s.withdraw(r)
	if got := s.ExpectedWithdrawals; len(got) != 16 || got[14].Amount != 15 || got[15].ValidatorIndex != 3 {
		t.Errorf("%v", got)
	}
	if len(s.PendingWithdrawals) != 5 || s.PendingWithdrawals[0].Amount != 16 || s.NextWithdrawal != 16 {
		t.Errorf("left are %v, the next has index %d", s.PendingWithdrawals, s.NextWithdrawal)
	}
}

// The root of a deposit is that of the libraries' DepositMessage.
func TestDepositRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := new(gloas.BuilderDepositRequest)
		copy(d.Pubkey[:], rapid.SliceOfN(rapid.Byte(), 48, 48).Draw(t, "key"))
		copy(d.WithdrawalCredentials[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "credentials"))
		d.Amount = phase0.Gwei(rapid.Uint64().Draw(t, "amount"))
		want, err := (&phase0.DepositMessage{PublicKey: d.Pubkey, WithdrawalCredentials: d.WithdrawalCredentials[:],
			Amount: d.Amount}).HashTreeRoot()
		if err != nil || depositRoot(d) != want {
			t.Errorf("%#x, want %#x, %v", depositRoot(d), want, err)
		}
	})
}

// offer is worth value and within, of which all counts.
func offer(value, within phase0.Gwei, boost uint64) *Offer {
	return &Offer{Boost: boost, MaxExecutionPayment: math.MaxUint64, Bid: &gloas.SignedExecutionPayloadBid{
		Message: &gloas.ExecutionPayloadBid{Value: value, ExecutionPayment: within},
	}}
}

// What a proposer takes, with its own block and without one.
func TestChoose(t *testing.T) {
	own := phase0.Gwei(100)
	capped := offer(0, 500, 100)
	capped.MaxExecutionPayment = 90
	least := offer(150, 0, 100)
	least.MinBid = 151
	foreign := offer(500, 0, 100)
	foreign.Pubkeys = []phase0.BLSPubKey{{1}}
	known := offer(500, 0, 100)
	known.Pubkeys, known.Pubkey = []phase0.BLSPubKey{{2}, {1}}, phase0.BLSPubKey{1}
	for name, row := range map[string]struct {
		own    *phase0.Gwei
		offers []*Offer
		want   int // -1 means the own block, or none
	}{
		"none":                     {&own, nil, -1},
		"more than the own block":  {&own, []*Offer{offer(60, 41, 100)}, 0},
		"as much as the own block": {&own, []*Offer{offer(60, 40, 100)}, -1},
		"the best of three": {&own, []*Offer{offer(120, 0, 100), offer(0, 130, 100), offer(125, 0, 100)},
			1},
		"the first of two equal ones":            {&own, []*Offer{offer(120, 0, 100), offer(0, 120, 100)}, 0},
		"payment above the cap":                  {&own, []*Offer{capped}, -1},
		"payment above the cap, no own block":    {nil, []*Offer{capped}, 0},
		"below the least bid":                    {&own, []*Offer{least}, -1},
		"below the least bid, no own block":      {nil, []*Offer{least}, -1},
		"of a builder that is not asked for":     {&own, []*Offer{foreign}, -1},
		"of the second builder that is":          {&own, []*Offer{known}, 0},
		"boost 0 loses to any own block":         {&own, []*Offer{offer(1000, 0, 0)}, -1},
		"boost 0 without an own block":           {nil, []*Offer{offer(1000, 0, 0)}, 0},
		"a boost of 200":                         {&own, []*Offer{offer(51, 0, 200)}, 0},
		"the highest boost":                      {&own, []*Offer{offer(1, 0, math.MaxUint64)}, 0},
		"the highest boost above greater values": {&own, []*Offer{offer(1000, 0, 10_000), offer(1, 0, math.MaxUint64)}, 1},
		"amounts beyond 64 bits": {&own, []*Offer{offer(math.MaxUint64, math.MaxUint64, 100),
			offer(1, 0, 100)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := Choose(row.own, row.offers), (*Offer)(nil)
			if row.want >= 0 {
				want = row.offers[row.want]
			}
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// The choice is that of numbers without a bound, for any boosts and amounts.
func TestChooseIsExact(t *testing.T) {
	weight := func(o *Offer) *big.Int {
		counted := new(big.Int).SetUint64(uint64(o.Counted()))
		return counted.Mul(counted, new(big.Int).SetUint64(o.Boost))
	}
	number := rapid.OneOf(rapid.Uint64Range(0, math.MaxUint64-1), rapid.Uint64Range(0, 300),
		rapid.Uint64Range(math.MaxUint64-300,
			math.MaxUint64-1))
	rapid.Check(t, func(t *rapid.T) {
		a := offer(phase0.Gwei(number.Draw(t, "value")), 0, number.Draw(t, "boost"))
		b := offer(phase0.Gwei(number.Draw(t, "other value")), 0, number.Draw(t, "other boost"))
		own := phase0.Gwei(number.Draw(t, "own"))
		want, most := a, weight(a)
		if weight(b).Cmp(most) > 0 {
			want, most = b, weight(b)
		}
		ownWeight := new(big.Int).Mul(big.NewInt(100), new(big.Int).SetUint64(uint64(own)))
		if want.Boost == 0 || most.Cmp(ownWeight) <= 0 {
			want = nil
		}
		if got := Choose(&own, []*Offer{a, b}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// The pool keeps the highest bid of a slot and parent, one of each builder, and forgets old slots.
func TestPool(t *testing.T) {
	r, s, _ := started(t)
	s.Builders = append(s.Builders, s.Builders[0])
	s.Builders[1].Pubkey = bls.Derive("builder", 1).PublicKey()
	limit := uint64(60_000_000)
	caseOf := func(builder uint64, value phase0.Gwei, hash byte) *check.BidCase {
		bid := &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{
			ParentBlockHash: phase0.Hash32{hash}, ParentBlockRoot: phase0.Root{1}, BlockHash: phase0.Hash32{8}, Slot: 8,
			Value: value, BuilderIndex: gloas.BuilderIndex(builder), GasLimit: limit,
		}}
		sign(t, r, bid, builder)
		return &check.BidCase{
			Spec: r.Spec, Bid: bid, NowSlot: 8, Parent: &check.Parent{Slot: 7}, ParentGasLimit: &limit,
			Preferences: &gloas.ProposerPreferences{ProposalSlot: 8, TargetGasLimit: limit}, PrevRandao: phase0.Root{},
			Head:    check.Head{Root: phase0.Root{1}, Hash: phase0.Hash32{hash}},
			Builder: &check.Builder{Builder: s.Builders[builder], FinalizedEpoch: 1},
		}
	}
	var pool Pool
	for i, step := range []struct {
		of   *check.BidCase
		rule string
	}{
		{caseOf(0, 100, 0xff), ""}, {caseOf(1, 100, 0xff), "highest"}, {caseOf(0, 200, 0xff), "first"},
		{caseOf(1, 101, 0xff), ""}, {caseOf(0, 5, 0xaa), ""},
	} {
		if got := pool.Add(step.of); got.Rule != step.rule {
			t.Errorf("step %d: %+v, want %q", i, got, step.rule)
		}
	}
	full, empty := Parent{8, phase0.Hash32{0xff}, phase0.Root{1}}, Parent{8, phase0.Hash32{0xaa}, phase0.Root{1}}
	if got := pool.Best(full); got == nil || got.Message.Value != 101 {
		t.Errorf("on the full parent %+v", got)
	}
	if got := pool.Best(empty); got == nil || got.Message.Value != 5 {
		t.Errorf("on the empty parent %+v", got)
	}
	pool.Forget(9)
	if pool.Best(full) != nil || pool.Best(empty) != nil {
		t.Error("bids of an old slot are kept")
	}
}
