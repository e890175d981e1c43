package reputation

import (
	"container/list"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Config is what a book keeps and when a signer is of high priority. What is zero has the default.
type Config struct {
	// MaxSigners is how many are kept: 100,000. MaxHours is how many hours of all of them together: 2,000,000, of 80 bytes each.
	MaxSigners, MaxHours int
	// HighValueWei is what the fee recipients must have earned by a signer's orders within a week, for each million gas that it had simulated:
	// 10^14 (0.0001 ETH).
	HighValueWei *uint256.Int
	// HighOrders is how many of them must have landed: 1.
	HighOrders uint64
}

// Book holds the reputation of signers. It is not safe for concurrent use; its owner holds a lock for every call.
type Book struct {
	config  Config
	signers map[common.Address]*list.Element
	// heard has a *known for each of them, the last heard of first; hours counts theirs.
	heard *list.List
	hours int
	// landings are the newest orders that landed, by their IDs, and order the IDs, oldest first: their blocks may be taken back.
	landings map[uint64]landing
	order    []uint64
}

// landing is what an order was counted as when it landed.
type landing struct {
	at       time.Time
	valueWei uint256.Int
}

// keepLandings is how many orders that landed may be taken back.
const keepLandings = 4096

type known struct {
	signer common.Address
	record record
}

// Standing is a signer's reputation at a time.
type Standing struct {
	High                       bool
	AllTime, LastWeek, LastDay Tally
}

// New makes an empty book.
func New(config Config) *Book {
	if config.MaxSigners == 0 {
		config.MaxSigners = 100_000
	}
	if config.MaxHours == 0 {
		config.MaxHours = 2_000_000
	}
	if config.HighValueWei == nil {
		config.HighValueWei = uint256.NewInt(100_000_000_000_000)
	}
	if config.HighOrders == 0 {
		config.HighOrders = 1
	}
	return &Book{config: config, signers: make(map[common.Address]*list.Element), heard: list.New(), landings: make(map[uint64]landing)}
}

// Apply notes a fact; facts that say nothing of a signer change nothing. The book counts every fact that it is told, so it must be told each once.
func (b *Book) Apply(fact rpc.Fact) {
	switch fact := fact.(type) {
	case rpc.OrderAccepted:
		if fact.Order != nil {
			b.note(fact.Order.Signer, fact.At, Tally{Orders: 1})
		}
	case rpc.OrderSimulated:
		change := Tally{GasSimulated: fact.GasUsed, Failed: 1}
		if fact.Success {
			change.Succeeded, change.Failed = 1, 0
		}
		b.note(fact.Signer, fact.At, change)
	case rpc.CallSimulated:
		b.note(fact.Signer, fact.At, Tally{GasSimulated: fact.GasUsed})
	case rpc.OrderEnded:
		if fact.State == rpc.Landed {
			b.land(fact)
		}
	case rpc.OrderReturned:
		b.takeBack(fact)
	}
}

func (b *Book) land(fact rpc.OrderEnded) {
	change := Tally{Landed: 1}
	if fact.ValueWei != nil {
		change.ValueLandedWei = *fact.ValueWei
	}
	b.note(fact.Signer, fact.At, change)
	b.landings[fact.ID] = landing{fact.At, change.ValueLandedWei}
	if b.order = append(b.order, fact.ID); len(b.order) > keepLandings {
		delete(b.landings, b.order[0])
		b.order = b.order[1:]
	}
}

// takeBack uncounts an order that did not land after all. If it lands again before it is forgotten here, it is forgotten a little early.
func (b *Book) takeBack(fact rpc.OrderReturned) {
	landed, ok := b.landings[fact.ID]
	if !ok {
		return
	}
	delete(b.landings, fact.ID)
	if element := b.signers[fact.Signer]; element != nil {
		recordOf(element).takeBack(landed.at, &Tally{Landed: 1, ValueLandedWei: landed.valueWei})
	}
}

func (b *Book) note(signer common.Address, at time.Time, change Tally) {
	element := b.signers[signer]
	if element == nil {
		if b.heard.Len() >= b.config.MaxSigners {
			b.forgetOldest()
		}
		element = b.heard.PushFront(&known{signer: signer})
		b.signers[signer] = element
	}
	b.heard.MoveToFront(element)
	b.hours += recordOf(element).note(at, &change)
	for b.hours > b.config.MaxHours && b.heard.Len() > 1 {
		b.forgetOldest()
	}
}

func (b *Book) forgetOldest() {
	oldest := b.heard.Remove(b.heard.Back()).(*known)
	delete(b.signers, oldest.signer)
	b.hours -= len(oldest.record.hours)
}

func recordOf(element *list.Element) *record { return &element.Value.(*known).record }

// Standing is a signer's reputation. Of somebody unknown it is the zero value.
func (b *Book) Standing(at time.Time, signer common.Address) Standing {
	element := b.signers[signer]
	if element == nil {
		return Standing{}
	}
	r := recordOf(element)
	week := r.since(at, weekHours)
	return Standing{High: b.high(&week), AllTime: r.total, LastWeek: week, LastDay: r.since(at, dayHours)}
}

// High says whether a signer is of high priority: what it had simulated within a week was worth it.
func (b *Book) High(at time.Time, signer common.Address) bool {
	element := b.signers[signer]
	if element == nil {
		return false
	}
	week := recordOf(element).since(at, weekHours)
	return b.high(&week)
}

func (b *Book) high(week *Tally) bool {
	if week.Landed < b.config.HighOrders {
		return false
	}
	// value per million gas, without a division: value × 10^6 against the threshold × gas, where less than a million gas counts as one
	value, overflow := new(uint256.Int).MulOverflow(&week.ValueLandedWei, uint256.NewInt(1_000_000))
	if overflow {
		return true
	}
	needed, overflow := new(uint256.Int).MulOverflow(b.config.HighValueWei, uint256.NewInt(max(week.GasSimulated, 1_000_000)))
	return !overflow && !value.Lt(needed)
}

// Signers is how many the book knows.
func (b *Book) Signers() int { return b.heard.Len() }
