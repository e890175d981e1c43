package auction

import (
	"errors"
	"fmt"
	"iter"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Boards are the boards of the open slots at one instance, made of one stream that has the logs of
// all slots (decision 19). A slot's log that was not read as a whole has a fault from then on:
// nothing of that slot may be served, since the top could be another one. The zero value has read
// nothing. It is not safe for concurrent use; its owner guards it.
//
//	the stream, numbered ─▶ Apply ─┬─▶ slot 7: opened, bid, bid, …  ─▶ Board
//	                               ├─▶ slot 8: opened, bid, …        ─▶ Board
//	                               └─▶ slot 9: bid, …                ─▶ Fault: its beginning is missing
type Boards struct {
	read uint64 // the number of the last message
	from phase0.Slot
	logs map[phase0.Slot]*slotLog
}

// slotLog is what was read of one slot's log.
type slotLog struct {
	board *Board
	place uint64 // of the last entry
	fault error  // nil as long as all entries were applied
}

// ErrClosedSlot says that a slot is over, and its entries are not read any more.
var ErrClosedSlot = errors.New("the slot is over")

// Apply applies the message with a number of the stream to its slot's board. Numbers that are
// missing before it are entries of any slot, so all open logs have a fault then. The error is the
// fault of the slot's log, or ErrClosedSlot; nothing is applied then. A message that was read
// before is passed over, and is Repeated.
func (b *Boards) Apply(number uint64, slot phase0.Slot, data []byte) (Entry, Applied, error) {
	if number <= b.read {
		return Entry{}, Applied{Repeated: true}, nil
	}
	b.Pass(number)
	if slot < b.from {
		return Entry{}, Applied{}, ErrClosedSlot
	}
	log := b.logs[slot]
	if log == nil {
		log = b.begin(slot)
	}
	if log.fault != nil {
		return Entry{}, Applied{}, log.fault
	}
	entry, err := DecodeEntry(data)
	if err == nil && log.place == 0 && entry.Kind != LogOpened {
		err = fmt.Errorf("the log of slot %d does not begin with its first entry: %w", slot, ErrGap)
	}
	var applied Applied
	if err == nil {
		log.place++
		applied, err = log.board.Apply(log.place, entry)
	}
	log.fault = err
	return entry, applied, err
}

func (b *Boards) begin(slot phase0.Slot) *slotLog {
	if b.logs == nil {
		b.logs = map[phase0.Slot]*slotLog{}
	}
	log := &slotLog{board: NewBoard(slot)}
	b.logs[slot] = log
	return log
}

// Pass notes a message of the stream that is of no slot's log.
func (b *Boards) Pass(number uint64) {
	if b.read > 0 && number > b.read+1 {
		for _, log := range b.logs {
			if log.fault == nil {
				log.fault = fmt.Errorf("message %d after message %d: %w", number, b.read, ErrGap)
			}
		}
	}
	b.read = max(b.read, number)
}

// Board returns the board of a slot; nil if its log has not begun here, has a fault, or is closed.
// It must not be changed.
func (b *Boards) Board(slot phase0.Slot) *Board {
	if log := b.logs[slot]; log != nil && log.fault == nil {
		return log.board
	}
	return nil
}

// Spoil notes a fault that the board cannot see itself.
func (b *Boards) Spoil(slot phase0.Slot, fault error) {
	if log := b.logs[slot]; log != nil && log.fault == nil {
		log.fault = fault
	}
}

// Fault returns why nothing of a slot may be served; nil if there is no reason.
func (b *Boards) Fault(slot phase0.Slot) error {
	if log := b.logs[slot]; log != nil {
		return log.fault
	}
	return nil
}

// Slots iterates over the open slots, also those with a fault, in no order.
func (b *Boards) Slots() iter.Seq[phase0.Slot] {
	return func(yield func(phase0.Slot) bool) {
		for slot := range b.logs {
			if !yield(slot) {
				return
			}
		}
	}
}

// Closed says whether a slot is over here.
func (b *Boards) Closed(slot phase0.Slot) bool { return slot < b.from }

// Close forgets the boards of all slots before the given one, whose later entries are passed over.
func (b *Boards) Close(before phase0.Slot) {
	b.from = max(b.from, before)
	for slot := range b.logs {
		if slot < before {
			delete(b.logs, slot)
		}
	}
}
