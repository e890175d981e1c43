package ledger

import (
	"cmp"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Defaults of ReputationConfig.
const (
	DefaultSigners           = 100_000
	DefaultHours             = 1_000_000
	DefaultHighWeiPerGas     = 100_000_000 // an order that is simulated at ten heads and pays 1 gwei a gas
	DefaultHighFailedPercent = 90
)

// maxLanded is how many landed orders are remembered, in case their block leaves the chain. Orders
// of finalised blocks are not needed any more; until then there are some hundred per block.
const maxLanded = 1 << 14

// ReputationConfig bounds what is remembered, and defines High. Zero fields take the defaults.
type ReputationConfig struct {
	// Signers is how many signers are remembered of those that have paid something, and as many
	// again of those that have not. The one whose newest fact is oldest is forgotten first.
	Signers int
	// Hours is how many hours are remembered, of all signers together: about 100 bytes each.
	Hours int
	// HighWeiPerGas is what a signer's orders must have paid in 7 days to be High, for each gas
	// that was simulated for it.
	HighWeiPerGas uint64
	// HighFailedPercent is the percentage of its simulations that may have failed in that time.
	HighFailedPercent uint64
}

func (c *ReputationConfig) setDefaults() {
	if c.Signers <= 0 {
		c.Signers = DefaultSigners
	}
	if c.Hours <= 0 {
		c.Hours = DefaultHours
	}
	if c.HighWeiPerGas == 0 {
		c.HighWeiPerGas = DefaultHighWeiPerGas
	}
	if c.HighFailedPercent == 0 {
		c.HighFailedPercent = DefaultHighFailedPercent
	}
}

// Reputation has how each signer's orders have done: what they paid, and what simulating them cost.
// It is a projection of the facts in memory, which must be applied in their order. Keys are free,
// so a new key has no reputation, and the memory for keys that have never paid is separate: they
// can't displace the keys that have. It is safe for concurrent use.
type Reputation struct {
	cfg ReputationConfig

	mu sync.RWMutex // guards all below; reading does not move a signer in its LRU
	// payers have paid something, newcomers have not.
	payers, newcomers lru.BasicLRU[common.Address, *signerRecord]
	hours             int // of all records
	landed            lru.BasicLRU[uint64, signerLanding]
	now               time.Time // of the newest fact
}

// signerLanding is what an order paid, and the record that it was counted in.
type signerLanding struct {
	at       time.Time
	valueWei uint256.Int
	signer   common.Address
	record   *signerRecord
}

// NewReputation makes an empty projection; Apply fills it.
func NewReputation(cfg ReputationConfig) *Reputation {
	cfg.setDefaults()
	return &Reputation{
		cfg:       cfg,
		payers:    lru.NewBasicLRU[common.Address, *signerRecord](cfg.Signers),
		newcomers: lru.NewBasicLRU[common.Address, *signerRecord](cfg.Signers),
		landed:    lru.NewBasicLRU[uint64, signerLanding](maxLanded),
	}
}

// Apply counts a fact. Facts that do not concern a signer's orders or calls change nothing.
func (v *Reputation) Apply(fact rpc.Fact) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		v.count(f.At, f.Order.Signer, &Sums{Orders: 1})
	case rpc.OrderSimulated:
		s := Sums{Simulations: 1, GasSimulated: cmp.Or(f.GasCharged, f.GasUsed)}
		if !f.Success {
			s.FailedSimulations = 1
		}
		v.count(f.At, f.Signer, &s)
	case rpc.CallSimulated:
		v.count(f.At, f.Signer, &Sums{GasSimulated: f.GasUsed})
	case rpc.OrderEnded:
		v.end(f)
	case rpc.OrderReturned:
		v.takeBack(f.ID)
	}
}

func (v *Reputation) end(f rpc.OrderEnded) {
	switch {
	case f.State == rpc.Failed:
		v.count(f.At, f.Signer, &Sums{FailedOrders: 1})
	case f.State == rpc.Landed && f.ValueWei != nil:
		v.takeBack(f.ID) // an order lands once, even if its return was not recorded
		r := v.count(f.At, f.Signer, &Sums{ValueWei: *f.ValueWei})
		v.landed.Add(f.ID, signerLanding{f.At, *f.ValueWei, f.Signer, r})
	}
}

// takeBack subtracts what a landed order paid. If its record has been forgotten since, it is
// changed too, which has no effect.
func (v *Reputation) takeBack(order uint64) {
	if l, ok := v.landed.Peek(order); ok {
		l.record.takeBack(l.at, &l.valueWei)
		v.landed.Remove(order)
	}
}

// count adds to a signer's record, and forgets the oldest records if there are too many. The caller
// holds mu.
func (v *Reputation) count(at time.Time, signer common.Address, s *Sums) *signerRecord {
	if at.After(v.now) {
		v.now = at
	}
	r := v.of(signer)
	if r == nil {
		r = new(signerRecord)
	}
	v.hours += r.add(at, s)
	v.enter(signer, r, !s.ValueWei.IsZero() || v.payers.Contains(signer))
	return r
}

// enter makes a record the newest of the payers or of the newcomers, and forgets the oldest records
// if there are too many. The caller holds mu.
func (v *Reputation) enter(signer common.Address, r *signerRecord, pays bool) {
	in := &v.newcomers
	if pays {
		in = &v.payers
		v.newcomers.Remove(signer)
	}
	if _, gone, evicted := in.Add3(signer, r); evicted {
		v.hours -= len(gone.hours)
	}
	for v.hours > v.cfg.Hours && v.newcomers.Len()+v.payers.Len() > 1 {
		v.forget()
	}
}

// forget drops the oldest newcomer, or if there is none, the oldest payer.
func (v *Reputation) forget() {
	_, r, ok := v.newcomers.RemoveOldest()
	if !ok {
		_, r, _ = v.payers.RemoveOldest()
	}
	v.hours -= len(r.hours)
}

// of returns a signer's record, or nil. The caller holds mu.
func (v *Reputation) of(signer common.Address) *signerRecord {
	if r, ok := v.payers.Peek(signer); ok {
		return r
	}
	r, _ := v.newcomers.Peek(signer)
	return r
}
