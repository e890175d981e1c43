package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// Log is the auction log that the instances of a cluster share (decision 19). What is appended
// comes back to each instance by Hear, in the log's order. It is safe for concurrent use.
type Log interface {
	// Append appends an entry to a slot's log and returns when it is stored. After an error it may be
	// stored or not.
	Append(ctx context.Context, slot phase0.Slot, entry []byte) error
	// Begin appends the first entry of a slot's log, unless the log has entries, which is no error.
	// After nil another instance's first entry may still fail to be stored.
	Begin(ctx context.Context, slot phase0.Slot, entry []byte) error
}

const (
	// logPatience is how long an entry may take until it is applied here (wall time). Then its
	// submission is refused, and may count or not.
	logPatience = 2 * time.Second
	// logRetry is the pause before an entry is appended again after an error (wall time).
	logRetry = 20 * time.Millisecond
	// logTries is how often an entry that no builder waits for is tried.
	logTries = 5
)

// sharedAuction is the auction over all instances, as this one has read its log. The pipeline's
// mutex guards it.
type sharedAuction struct {
	boards auction.Boards
	number uint64 // of the last entry of this instance
	// waiting are this instance's entries that were not applied yet, by number.
	waiting map[uint64]*waitingEntry
	// opening are closed when the log of a slot has begun here, or has a fault.
	opening map[phase0.Slot]chan struct{}
	// shown are the auctions of each slot that have served a bid.
	shown map[phase0.Slot]map[relay.Key]bool
	// hidden are the slots whose log has a fault, so that nothing of them is served.
	hidden map[phase0.Slot]bool
}

// waitingEntry is an entry of this instance on its way.
type waitingEntry struct {
	slot phase0.Slot
	bid  *preparedBid // of a bid: it may be signed already
	done chan appliedEntry
}

// appliedEntry is what became of an entry. fault says that the log cannot be read here.
type appliedEntry struct {
	auction.Applied
	late  *awaitedPayload // of PayloadLate: what this instance had awaited until then
	fault error
}

func newSharedAuction() *sharedAuction {
	return &sharedAuction{
		waiting: map[uint64]*waitingEntry{}, opening: map[phase0.Slot]chan struct{}{},
		shown: map[phase0.Slot]map[relay.Key]bool{}, hidden: map[phase0.Slot]bool{},
	}
}

// close forgets the auctions of all slots before the given one.
func (s *sharedAuction) close(before phase0.Slot) {
	if s == nil {
		return
	}
	s.boards.Close(before)
	isOver := func(slot phase0.Slot) bool { return slot < before }
	maps.DeleteFunc(s.shown, func(slot phase0.Slot, _ map[relay.Key]bool) bool { return isOver(slot) })
	maps.DeleteFunc(s.hidden, func(slot phase0.Slot, _ bool) bool { return isOver(slot) })
	maps.DeleteFunc(s.opening, func(slot phase0.Slot, _ chan struct{}) bool { return isOver(slot) })
}

// book returns the book of an auction. In a cluster it is that of its slot's log, and must not be
// changed; it is empty if the log has not begun. The caller holds mu.
func (p *Pipeline) book(key relay.Key) *auction.Book {
	if p.shared == nil {
		return p.books.Of(key)
	}
	if board := p.shared.boards.Board(key.Slot); board != nil {
		return board.Book(key)
	}
	return new(auction.Book)
}

// Unreadable returns why nothing of some slot from the given one on is served, because its auction
// log was not read as a whole; nil if there is no such slot.
func (p *Pipeline) Unreadable(from phase0.Slot) error {
	if p.shared == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := range p.shared.hidden {
		if slot >= from {
			return fmt.Errorf("slot %d: %w", slot, p.shared.boards.Fault(slot))
		}
	}
	return nil
}

// append puts an entry into a slot's log, and returns what it has done when it was applied here.
// bid is that of a BidEntered. The refusal says that this could not be found out.
func (p *Pipeline) append(ctx context.Context, slot phase0.Slot, entry auction.Entry,
	bid *preparedBid) (appliedEntry, *relay.Refused) {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	if err := p.openLog(ctx, slot); err != nil {
		return appliedEntry{}, p.noLog(ctx, err)
	}
	number, data, waiting, err := p.expect(slot, entry, bid)
	if err != nil {
		return appliedEntry{}, p.noLog(ctx, err)
	}
	defer p.forgetEntry(number)
	for {
		err := p.Log.Append(ctx, slot, data)
		if err == nil {
			break
		}
		// It may be stored all the same, and count once however often it is appended.
		if ctx.Err() != nil || run.Pause(ctx, logRetry) != nil {
			return appliedEntry{}, p.noLog(ctx, err)
		}
	}
	select {
	case applied := <-waiting.done:
		if applied.fault != nil {
			return appliedEntry{}, p.noLog(ctx, applied.fault)
		}
		return applied, nil
	case <-ctx.Done():
		return appliedEntry{}, p.noLog(ctx, errNotApplied)
	}
}

var errNotApplied = errors.New("what was appended does not come back")

// noLog reports that the log cannot be used, unless the client has gone away, and refuses.
func (p *Pipeline) noLog(ctx context.Context, err error) *relay.Refused {
	if !errors.Is(ctx.Err(), context.Canceled) {
		p.reportFailure("use the auction log", err)
	}
	return relay.SubmissionAuctionDown.Plain()
}

// expect gives an entry its number, and notes that it is on its way.
func (p *Pipeline) expect(slot phase0.Slot, entry auction.Entry,
	bid *preparedBid) (number uint64, data []byte, waiting *waitingEntry, err error) {
	p.mu.Lock()
	p.shared.number++
	number = p.shared.number
	p.mu.Unlock()
	entry.Version, entry.Needs = auction.EntryVersion, 1
	entry.Instance, entry.Number = p.Instance, number
	if data, err = json.Marshal(entry); err != nil {
		return 0, nil, nil, fmt.Errorf("encode an entry of the auction log: %w", err)
	}
	waiting = &waitingEntry{slot, bid, make(chan appliedEntry, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shared.waiting[number] = waiting
	return number, data, waiting, nil
}

func (p *Pipeline) forgetEntry(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.shared.waiting, number)
}

// openLog returns when a slot's log has begun here. The error is the fault of the log, or why it
// cannot begin.
func (p *Pipeline) openLog(ctx context.Context, slot phase0.Slot) error {
	for {
		opened, err := p.opening(slot)
		if opened == nil {
			return err
		}
		number, data, _, err := p.expect(slot, auction.Entry{Kind: auction.LogOpened}, nil)
		p.forgetEntry(number) // whoever has begun the log, this waits for that
		if err == nil {
			err = p.Log.Begin(ctx, slot, data)
		}
		retry := time.NewTimer(logRetry)
		select {
		case <-opened:
		case <-retry.C: // the first entry of another instance was not stored, or is late
		case <-ctx.Done():
			retry.Stop()
			return errors.Join(errNotApplied, err)
		}
		retry.Stop()
	}
}

// opening returns what is closed when a slot's log has begun here; nil if it has, or has a fault.
func (p *Pipeline) opening(slot phase0.Slot) (chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shared.boards.Board(slot) != nil {
		return nil, nil
	}
	if fault := p.shared.boards.Fault(slot); fault != nil {
		return nil, fault
	}
	opened := p.shared.opening[slot]
	if opened == nil {
		opened = make(chan struct{})
		p.shared.opening[slot] = opened
	}
	return opened, nil
}

// tell appends an entry that no builder waits for. It tries again for some seconds, and reports if
// the log does not take it; then no header is served either, since the log is part of the journal.
func (p *Pipeline) tell(slot phase0.Slot, entry auction.Entry) (applied appliedEntry, told bool) {
	for range logTries {
		applied, refused := p.append(context.Background(), slot, entry, nil)
		if refused == nil {
			return applied, true
		}
		if p.isClosed(slot) {
			break
		}
	}
	return appliedEntry{}, false
}

func (p *Pipeline) isClosed(slot phase0.Slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shared.boards.Closed(slot)
}

// openSlots returns the slots whose logs have begun here.
func (p *Pipeline) openSlots() (slots []phase0.Slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := range p.shared.boards.Slots() {
		if p.shared.boards.Board(slot) != nil {
			slots = append(slots, slot)
		}
	}
	return slots
}
