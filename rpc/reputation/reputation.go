// Package reputation keeps what is known of each signer over time: what its orders paid, and what simulating them cost. It is a view of the facts.
//
//	OrderSimulated, CallSimulated ─▶ gas ──┐
//	OrderEnded (landed) ─────────▶ value ──┼─▶ by hour ─▶ sums of a day, of 7 days, of all time ─▶ whose simulations come first
//	OrderAccepted, OrderEnded ───▶ orders ─┘
package reputation

import (
	"container/list"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

const (
	// hours is how long single hours are remembered.
	hours = 7 * 24
	// maxSigners are remembered; beyond them the one that did nothing for longest goes.
	maxSigners = 100_000
	// highWeiPerGas is what a signer's landed orders must have paid in 7 days, for each gas that simulating for it used, to come first.
	highWeiPerGas = 1_000_000 // 0.001 gwei
)

// Book is safe for concurrent use.
type Book struct {
	mu      sync.Mutex // guards what follows
	limit   int
	signers map[common.Address]*list.Element // of *record
	recent  list.List                        // the signer that did something last first
}

// record is one signer.
type record struct {
	signer         common.Address
	orders, failed uint64
	allTime        sums
	// hours are the newest ones, oldest first; one in which nothing happened is not there.
	hours []hour
}

type sums struct {
	valueWei uint256.Int
	gas      uint64
}

type hour struct {
	at int64 // hours since 1970
	sums
}

// New returns an empty book.
func New() *Book { return &Book{limit: maxSigners, signers: map[common.Address]*list.Element{}} }

// Apply takes a fact. Facts must come in their order.
func (b *Book) Apply(fact rpc.Fact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		b.of(f.Order.Signer).orders++
	case rpc.OrderSimulated:
		r := b.of(f.Signer)
		r.add(f.At, nil, f.GasUsed)
		if !f.Success {
			r.failed++
		}
	case rpc.CallSimulated:
		b.of(f.Signer).add(f.At, nil, f.GasUsed)
	case rpc.OrderEnded:
		if f.State == rpc.Landed && f.ValueWei != nil {
			b.of(f.Signer).add(f.At, f.ValueWei, 0)
		}
	}
}

// of is a signer's record, which has moved to the front. The caller holds mu.
func (b *Book) of(signer common.Address) *record {
	if element, known := b.signers[signer]; known {
		b.recent.MoveToFront(element)
		return element.Value.(*record)
	}
	if len(b.signers) >= b.limit {
		oldest := b.recent.Back()
		delete(b.signers, b.recent.Remove(oldest).(*record).signer)
	}
	r := &record{signer: signer}
	b.signers[signer] = b.recent.PushFront(r)
	return r
}

func (s *sums) add(valueWei *uint256.Int, gas uint64) {
	s.gas += gas
	if valueWei == nil {
		return
	}
	if _, overflow := s.valueWei.AddOverflow(&s.valueWei, valueWei); overflow {
		s.valueWei.SetAllOne()
	}
}

func (r *record) add(at time.Time, valueWei *uint256.Int, gas uint64) {
	r.allTime.add(valueWei, gas)
	now := hourOf(at)
	if n := len(r.hours); n == 0 || r.hours[n-1].at < now {
		r.hours = append(r.hours, hour{at: now})
	}
	r.hours[len(r.hours)-1].add(valueWei, gas)
	for r.hours[0].at+hours < now {
		r.hours = r.hours[1:]
	}
}

func hourOf(at time.Time) int64 { return at.Unix() / 3600 }

// since sums up the hours that begin after a time.
func (r *record) since(after time.Time) (total sums) {
	for i := range r.hours {
		if r.hours[i].at > hourOf(after) {
			total.add(&r.hours[i].valueWei, r.hours[i].gas)
		}
	}
	return total
}

// Stats is what is known of a signer.
func (b *Book) Stats(at time.Time, signer common.Address) rpc.UserStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := new(record)
	if element, known := b.signers[signer]; known {
		r = element.Value.(*record)
	}
	week, day := r.since(at.Add(-7*24*time.Hour)), r.since(at.Add(-24*time.Hour))
	return rpc.UserStats{
		High: high(week), AllTime: r.allTime.stats(), Week: week.stats(), Day: day.stats(), Orders: r.orders, FailedSimulations: r.failed,
	}
}

func (s sums) stats() rpc.UserSums {
	return rpc.UserSums{ValueWei: s.valueWei.Clone(), GasSimulated: s.gas}
}

// high says whether orders paid enough for the work they made.
func high(week sums) bool {
	if week.valueWei.IsZero() {
		return false
	}
	needed := new(uint256.Int).Mul(uint256.NewInt(week.gas), uint256.NewInt(highWeiPerGas))
	return !week.valueWei.Lt(needed)
}

// High says whether a signer's simulations come first: whose orders of the last 7 days paid enough for each gas that was simulated for it. The
// newest hour that it did something in counts as now.
func (b *Book) High(signer common.Address) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	element, known := b.signers[signer]
	if !known {
		return false
	}
	r := element.Value.(*record)
	var week sums
	for i := range r.hours {
		week.add(&r.hours[i].valueWei, r.hours[i].gas)
	}
	return high(week)
}
