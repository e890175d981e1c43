package slots

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Store is the escrow, which also knows who has put something under a block hash.
type Store interface {
	relay.Escrow
	// Builders are those that have put a payload under a block hash, in no order. The zero key is of a
	// payload whose key names no builder.
	Builders(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32) ([]phase0.BLSPubKey, error)
	// Drop forgets a payload.
	Drop(ctx context.Context, id relay.PayloadID) error
}

// Payloads stands before the escrow and keeps the payloads of headers that were served in memory
// too, so that their delivery needs the guard alone. The escrow is for what memory cannot survive.
//
//	submit  ─Put──▶ recent: what came last         ─┐
//	submit  ─Show─▶ shown: the last few leaders     ├─ one copy of each ─▶ Get, or else the escrow
//	top ─Header───▶ served: until the slot is over ─┘
//
// It is safe for concurrent use.
type Payloads struct {
	// Escrow is the one behind.
	Escrow Store
	Log    *slog.Logger

	// last is the header that was served last: proposers and sidecars ask for the same one many times.
	last atomic.Pointer[relay.PayloadID]

	mu     sync.Mutex // guards what follows
	held   map[relay.PayloadID]*heldContents
	recent []recentBlock // the oldest first
	bytes  int           // of recent
	shown  map[relay.Key][]relay.PayloadID
	served []relay.PayloadID // the oldest first
}

// fetchTimeout bounds one question to the escrow, in wall time.
const fetchTimeout = 2 * time.Second

// Bounds of what is in memory. A block with all its blobs has about 2.5 MB.
const (
	// recentBytes is enough for what is written to the escrow at a time: a bid is shown, or not, a
	// moment later.
	recentBytes = 32 << 20
	// shownTops are remembered of each auction, since a header is told of after it was read.
	shownTops = 4
	// servedHeaders are remembered in all. One auction seldom serves more than two or three.
	servedHeaders = 32
)

// recentBlock is what came lately, and about how many bytes it has.
type recentBlock struct {
	relay.PayloadID
	bytes int
}

// heldContents is a payload, and in how many of the three places it is. Without contents it is
// waited for, or was not found.
type heldContents struct {
	contents *relay.Contents
	places   int
	asked    bool // the escrow, for what is not here
}

// Put implements relay.Escrow.
func (s *Payloads) Put(ctx context.Context, contents *relay.Contents) error {
	if err := s.Escrow.Put(ctx, contents); err != nil {
		return err
	}
	held := *contents
	held.Raw = slices.Clip(held.Raw) // whoever encodes them again copies
	r := recentBlock{contents.ID(), contents.Size()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(r.PayloadID).contents = &held
	s.recent = append(s.recent, r)
	s.bytes += r.bytes
	for s.bytes > recentBytes && len(s.recent) > 1 {
		s.forgetRecent(0)
	}
	return nil
}

// Get implements relay.Escrow.
func (s *Payloads) Get(ctx context.Context, id relay.PayloadID) (*relay.Contents, error) {
	if contents := s.here(id); contents != nil {
		return contents, nil
	}
	return s.Escrow.Get(ctx, id)
}

// Needs says whether a payload leads an auction, led it lately, or belongs to a header that was
// served. It never blocks.
func (s *Payloads) Needs(id relay.PayloadID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.served, id) {
		return true
	}
	for _, tops := range s.shown {
		if slices.Contains(tops, id) {
			return true
		}
	}
	return false
}

// Drop forgets a payload that nobody needs.
func (s *Payloads) Drop(ctx context.Context, id relay.PayloadID) error {
	s.mu.Lock()
	if at := slices.IndexFunc(s.recent, func(r recentBlock) bool { return r.PayloadID == id }); at >= 0 {
		s.forgetRecent(at)
	}
	s.mu.Unlock()
	return s.Escrow.Drop(ctx, id)
}

// Find implements deliver.Payloads. What is in memory comes first, and of that what was served
// last.
func (s *Payloads) Find(
	ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32, fits func(*relay.Contents) bool,
) (*relay.Contents, error) {
	tried := map[phase0.BLSPubKey]bool{}
	for _, contents := range s.under(slot, blockHash) {
		if tried[contents.Trace.BuilderPubkey] = true; fits(contents) {
			return contents, nil
		}
	}
	builders, err := s.Escrow.Builders(ctx, slot, blockHash)
	if err != nil {
		return nil, err
	}
	for _, builder := range builders {
		if tried[builder] {
			continue
		}
		contents, err := s.Escrow.Get(ctx, relay.PayloadID{Slot: slot, BlockHash: blockHash, Builder: builder})
		if err != nil {
			return nil, err
		}
		if contents != nil && fits(contents) {
			return contents, nil
		}
	}
	return nil, nil // the port says so: not being there is no error
}

// under are the payloads in memory under a block hash, each once, those whose header was served
// first.
func (s *Payloads) under(slot phase0.Slot, blockHash phase0.Hash32) (list []*relay.Contents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(id relay.PayloadID) {
		if id.Slot != slot || id.BlockHash != blockHash {
			return
		}
		if contents := s.held[id].contents; contents != nil && !slices.Contains(list, contents) {
			list = append(list, contents)
		}
	}
	for _, id := range slices.Backward(s.served) {
		add(id)
	}
	for id := range s.held {
		add(id)
	}
	return list
}

// Show notes that a builder's bid leads its auction. It never blocks.
func (s *Payloads) Show(key relay.Key, blockHash phase0.Hash32, builder phase0.BLSPubKey) {
	id := relay.PayloadID{Slot: key.Slot, BlockHash: blockHash, Builder: builder}
	s.mu.Lock()
	defer s.mu.Unlock()
	tops := s.shown[key]
	if len(tops) > 0 && tops[len(tops)-1] == id {
		return
	}
	if s.shown == nil {
		s.shown = map[relay.Key][]relay.PayloadID{}
	}
	s.fetch(id, s.hold(id))
	tops = append(tops, id)
	if len(tops) > shownTops {
		s.release(tops[0])
		tops = slices.Delete(tops, 0, 1)
	}
	s.shown[key] = tops
}

// Header notes that a header was handed out. It never blocks, and allocates nothing for one that is
// handed out again.
func (s *Payloads) Header(id relay.PayloadID) {
	if last := s.last.Load(); last != nil && *last == id {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.served, id) {
		return
	}
	last := id // a copy of its own, so that a header that is served again allocates nothing
	s.last.Store(&last)
	s.fetch(id, s.hold(id))
	s.served = append(s.served, id)
	if len(s.served) > servedHeaders {
		s.release(s.served[0])
		s.served = slices.Delete(s.served, 0, 1)
	}
}

// Close forgets the payloads of slots before the given one.
func (s *Payloads) Close(before phase0.Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.recent) - 1; i >= 0; i-- {
		if s.recent[i].Slot < before {
			s.forgetRecent(i)
		}
	}
	for key, tops := range s.shown {
		if key.Slot < before {
			for _, id := range tops {
				s.release(id)
			}
			delete(s.shown, key)
		}
	}
	s.served = slices.DeleteFunc(s.served, func(id relay.PayloadID) bool {
		if id.Slot < before {
			s.release(id)
			return true
		}
		return false
	})
}

// here is a payload that is in memory, nil if it is not.
func (s *Payloads) here(id relay.PayloadID) *relay.Contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.held[id]; held != nil {
		return held.contents
	}
	return nil
}

// fetch reads a payload from the escrow that is no longer in memory: of a bid that leads again
// because a better one was cancelled. That of a header which came first is in neither; its Put will
// bring it. The caller holds mu.
func (s *Payloads) fetch(id relay.PayloadID, held *heldContents) {
	if held.contents != nil || held.asked {
		return
	}
	held.asked = true
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
		defer cancel()
		contents, err := s.Escrow.Get(ctx, id)
		if err != nil {
			s.Log.Warn("a payload that leads is in the escrow alone", "slot", id.Slot, "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		held.asked = false
		if held.contents == nil {
			held.contents = contents
		}
	}()
}

// hold notes one more place in which a payload is. The caller holds mu.
func (s *Payloads) hold(id relay.PayloadID) *heldContents {
	if s.held == nil {
		s.held = map[relay.PayloadID]*heldContents{}
	}
	held := s.held[id]
	if held == nil {
		held = &heldContents{}
		s.held[id] = held
	}
	held.places++
	return held
}

// release notes one place less, and forgets what is in none. The caller holds mu.
func (s *Payloads) release(id relay.PayloadID) {
	held := s.held[id]
	if held.places--; held.places == 0 {
		delete(s.held, id)
	}
}

// forgetRecent forgets that a payload came lately. The caller holds mu.
func (s *Payloads) forgetRecent(at int) {
	r := s.recent[at]
	s.bytes -= r.bytes
	s.recent = slices.Delete(s.recent, at, at+1)
	s.release(r.PayloadID)
}
