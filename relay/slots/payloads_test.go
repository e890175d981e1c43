package slots

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// away is an escrow that can go away, as no real one does on command.
type away struct {
	mu   sync.Mutex // guards both
	gone bool
	kept map[relay.PayloadID]*relay.Contents
}

var errAway = errors.New("the escrow is gone")

func (a *away) Put(_ context.Context, contents *relay.Contents) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return errAway
	}
	if a.kept == nil {
		a.kept = map[relay.PayloadID]*relay.Contents{}
	}
	a.kept[contents.ID()] = contents
	return nil
}

func (a *away) Get(_ context.Context, id relay.PayloadID) (*relay.Contents, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return nil, errAway
	}
	return a.kept[id], nil
}

func (a *away) Builders(_ context.Context, slot phase0.Slot, hash phase0.Hash32) (list []phase0.BLSPubKey, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return nil, errAway
	}
	for id := range a.kept {
		if id.Slot == slot && id.BlockHash == hash {
			list = append(list, id.Builder)
		}
	}
	return list, nil
}

func (a *away) Drop(_ context.Context, id relay.PayloadID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.kept, id)
	return nil
}

// idOf is the escrow's key of a builder's block.
func idOf(number byte) relay.PayloadID {
	return relay.PayloadID{Slot: slot, BlockHash: phase0.Hash32{number}, Builder: builder}
}

var builder = phase0.BLSPubKey{0xb}

const slot = phase0.Slot(10)

// block is a payload of some bytes; its hash is its number.
func block(number byte, bytes int) *relay.Contents {
	return &relay.Contents{
		Trace: &relay.BidTrace{Slot: uint64(slot), BuilderPubkey: builder},
		Payload: &payload.Payload{BlockHash: phase0.Hash32{number},
			Transactions: []bellatrix.Transaction{make([]byte, bytes)}},
	}
}

func newServed() (*Payloads, *away) {
	escrow := &away{}
	return &Payloads{Escrow: escrow, Log: slog.New(slog.DiscardHandler)}, escrow
}

func put(t *testing.T, s *Payloads, contents *relay.Contents) {
	t.Helper()
	if err := s.Put(t.Context(), contents); err != nil {
		t.Fatal(err)
	}
}

// take puts a payload whose bid does not lead.
func take(t *testing.T, s *Payloads, contents *relay.Contents) {
	t.Helper()
	put(t, s, contents)
	s.Settle(contents.ID())
}

// lead puts a payload whose bid leads.
func lead(t *testing.T, s *Payloads, contents *relay.Contents) {
	t.Helper()
	put(t, s, contents)
	s.Show(auction1, contents.Payload.BlockHash, builder)
	s.Settle(contents.ID())
}

func wantHeld(t *testing.T, s *Payloads, number byte, want bool) {
	t.Helper()
	got, err := s.Get(t.Context(), idOf(number))
	if (err == nil && got != nil) != want || want && got.Payload.BlockHash[0] != number {
		t.Errorf("block %d: %v, %v, want it here: %v", number, got, err, want)
	}
}

var auction1 = relay.Key{Slot: slot}

// What was served is at hand without the escrow, however much came after it, until its slot is
// over.
func TestServedOutlivesTheEscrow(t *testing.T) {
	s, escrow := newServed()
	lead(t, s, block(1, 1000))
	s.Header(idOf(1))
	for number := byte(2); number < 12; number++ {
		lead(t, s, block(number, recentBytes/4))
	}
	escrow.gone = true
	wantHeld(t, s, 1, true)  // served
	wantHeld(t, s, 11, true) // leads
	wantHeld(t, s, 3, false) // did once
	if len(s.held) != 1+4 {
		t.Errorf("%d payloads are in memory, want the served one and four others", len(s.held))
	}
	s.Close(slot + 1)
	wantHeld(t, s, 1, false)
	if len(s.held) != 0 || s.bytes != 0 || len(s.shown) != 0 {
		t.Errorf("something is left: %d payloads, %d bytes", len(s.held), s.bytes)
	}
}

// Until it is known whether a payload's bid leads, the payload is in memory, however many come at a
// time. Then the oldest go, and what stays of those that do not lead has a bound.
func TestUnsettledPayloadsStay(t *testing.T) {
	s, escrow := newServed()
	const blocks, fitting = 16, 4
	for number := range byte(blocks) {
		put(t, s, block(number, recentBytes/fitting-1000))
	}
	escrow.gone = true
	for number := range byte(blocks) {
		wantHeld(t, s, number, true)
	}
	for number := range byte(blocks) {
		s.Settle(idOf(number))
	}
	for number := range byte(blocks) {
		wantHeld(t, s, number, number >= blocks-fitting)
	}
	if len(s.held) != fitting || s.bytes > recentBytes {
		t.Errorf("%d payloads of %d bytes are in memory, want %d", len(s.held), s.bytes, fitting)
	}
	s.Settle(idOf(0)) // once more
	wantHeld(t, s, blocks-1, true)
}

// What leads, led lately or was served is needed; what is not can be dropped, and is in memory no
// more.
func TestNeededPayloads(t *testing.T) {
	s, escrow := newServed()
	for number := range byte(8) {
		put(t, s, block(number, 1000))
		if number > 0 {
			s.Show(auction1, phase0.Hash32{number}, builder)
		}
	}
	s.Header(idOf(1))
	for number, want := range []bool{false, true, false, false, true, true, true, true} {
		if got := s.Needs(idOf(byte(number))); got != want {
			t.Errorf("block %d is needed: %v, want %v", number, got, want)
		}
	}
	if err := s.Drop(t.Context(), idOf(0)); err != nil || len(escrow.kept) != 7 {
		t.Errorf("%v, %d payloads are left", err, len(escrow.kept))
	}
	wantHeld(t, s, 0, false)
}

// A bid that the escrow did not take is not in memory either: it does not count.
func TestWhatIsNotEscrowedIsNotServed(t *testing.T) {
	s, escrow := newServed()
	escrow.gone = true
	if err := s.Put(t.Context(), block(1, 1)); !errors.Is(err, errAway) {
		t.Errorf("%v", err)
	}
	if len(s.held) != 0 {
		t.Error("it is in memory")
	}
}

// A bid that leads again after a long time is read back while the escrow is there; a header may be
// served before its payload has come.
func TestServedThatIsNotInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, escrow := newServed()
		take(t, s, block(1, 1000))
		take(t, s, block(2, recentBytes))
		wantHeld(t, s, 1, true) // from the escrow
		s.Show(auction1, phase0.Hash32{1}, builder)
		s.Show(auction1, phase0.Hash32{3}, builder)
		s.Header(idOf(3))
		synctest.Wait()
		take(t, s, block(3, 1000))
		take(t, s, block(4, recentBytes))
		escrow.mu.Lock()
		escrow.gone = true
		escrow.mu.Unlock()
		wantHeld(t, s, 1, true)
		wantHeld(t, s, 3, true)
	})
}

// Whatever is put, shown, served and closed, memory stays within its bounds.
func TestServedIsBounded(t *testing.T) {
	s, _ := newServed()
	for n := range 1000 {
		contents := block(byte(n), 1<<20)
		contents.Payload.BlockHash[1] = byte(n >> 8)
		lead(t, s, contents)
		s.Header(contents.ID())
	}
	if most := recentBytes>>20 + shownTops + servedHeaders; len(s.held) > most {
		t.Errorf("%d payloads are in memory, want %d at most", len(s.held), most)
	}
}

// Handing out a header again costs no memory.
func TestHeaderServedAgainIsFree(t *testing.T) {
	s, _ := newServed()
	put(t, s, block(1, 1))
	s.Header(idOf(1))
	if allocations := testing.AllocsPerRun(100, func() { s.Header(idOf(1)) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
