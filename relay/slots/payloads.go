package slots

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Store is an escrow that also knows which builders have put a payload under a block hash.
type Store interface {
	relay.Escrow
	// Builders lists, in no order, the builders that have put a payload under a block hash. A payload
	// whose key names no builder is listed as the zero key.
	Builders(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32) ([]phase0.BLSPubKey, error)
	// Drop deletes a payload.
	Drop(ctx context.Context, id relay.PayloadID) error
}

// Payloads keeps the payloads of headers that were served in memory too, so that their delivery
// needs only the guard. The escrow behind it is for payloads that memory has lost, as after a
// crash.
//
//	submit  ─Put──▶ recent: at least until Settle  ─┐
//	submit  ─Show─▶ shown: the last few leaders     ├─ one copy of each ─▶ Get, or else the escrow
//	top ─Header───▶ served: until the slot is over ─┘
//	stakedbid ─Hold─▶ in the escrow, until LetGo or until the slot is over
//
// It is safe for concurrent use.
type Payloads struct {
	// Escrow is where all payloads are written, and what memory lacks is read from.
	Escrow Store
	Log    *slog.Logger
	// FetchServedOnly reads payloads of leading bids that are not in memory only once a header was
	// served: in a cluster most of them came to other instances.
	FetchServedOnly bool

	// last is the header that was served last. It saves the lock, since proposers and sidecars ask for
	// the same header many times.
	last atomic.Pointer[relay.PayloadID]

	mu     sync.Mutex // guards what follows
	held   map[relay.PayloadID]*heldContents
	recent []recentBlock // the oldest first
	bytes  int           // of recent
	shown  map[relay.Key][]relay.PayloadID
	served []relay.PayloadID // the oldest first
	stands map[relay.PayloadID]struct{}
}

// fetchTimeout bounds one read from the escrow, in wall time.
const fetchTimeout = 2 * time.Second

// Bounds of memory. A block with all its blobs has about 2.5 MB.
const (
	// recentBytes is how much of what came last stays after it was settled: a few blocks, since a
	// trusted builder's block is executed right after. The garbage collector lets the heap grow to
	// twice of what is held, so that each byte costs two (docs/speed.md).
	recentBytes = 8 << 20
	// shownTops is how many leaders of each auction are remembered. It is more than one, because
	// Header is called after the header was read, when another bid may lead already.
	shownTops = 4
	// servedHeaders is how many served headers are remembered in all. One auction seldom serves more
	// than two or three.
	servedHeaders = 32
)

// recentBlock is a payload that came lately, and about how many bytes it has. Until it is settled
// it stays, however many bytes there are: the requests that bring payloads have their own bounds.
type recentBlock struct {
	relay.PayloadID
	bytes   int
	settled bool
}

// heldContents is a payload, and in how many of recent, shown and served it is. contents is nil
// while the payload is being read, and if it was not found.
type heldContents struct {
	contents   *relay.Contents
	references int
	asked      bool // the escrow is being read
}

// Put implements relay.Escrow. The payload stays in memory until Settle, and often longer.
func (s *Payloads) Put(ctx context.Context, contents *relay.Contents) error {
	if err := s.Escrow.Put(ctx, contents); err != nil {
		return err
	}
	held := *contents
	held.Raw = slices.Clip(held.Raw) // so that appending to it copies it
	r := recentBlock{PayloadID: contents.ID(), bytes: contents.Size()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(r.PayloadID).contents = &held
	s.recent = append(s.recent, r)
	s.bytes += r.bytes
	s.trimRecent()
	return nil
}

// Settle notes that it is known whether a bid for a payload leads, which Show was told before.
func (s *Payloads) Settle(id relay.PayloadID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.recent {
		if s.recent[i].PayloadID == id {
			s.recent[i].settled = true
		}
	}
	s.trimRecent()
}

// Get implements relay.Escrow.
func (s *Payloads) Get(ctx context.Context, id relay.PayloadID) (*relay.Contents, error) {
	if contents := s.here(id); contents != nil {
		return contents, nil
	}
	return s.Escrow.Get(ctx, id)
}

// Hold notes that a bid stands which has no auction of blocks to lead, so that its payload stays in
// the escrow.
func (s *Payloads) Hold(id relay.PayloadID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stands == nil {
		s.stands = map[relay.PayloadID]struct{}{}
	}
	s.stands[id] = struct{}{}
}

// LetGo notes that such a bid no longer stands.
func (s *Payloads) LetGo(id relay.PayloadID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stands, id)
}

// Needs says whether a payload leads an auction, led it lately, is held, or belongs to a header
// that was served. It never waits for the escrow.
func (s *Payloads) Needs(id relay.PayloadID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, stands := s.stands[id]; stands || slices.Contains(s.served, id) {
		return true
	}
	for _, tops := range s.shown {
		if slices.Contains(tops, id) {
			return true
		}
	}
	return false
}

// Drop deletes a payload that is not needed, in memory and in the escrow.
func (s *Payloads) Drop(ctx context.Context, id relay.PayloadID) error {
	s.mu.Lock()
	if at := slices.IndexFunc(s.recent, func(r recentBlock) bool { return r.PayloadID == id }); at >= 0 {
		s.forgetRecent(at)
	}
	s.mu.Unlock()
	return s.Escrow.Drop(ctx, id)
}

// Find implements deliver.Payloads. It tries payloads in memory first, those of the headers that
// were served last before others.
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
	return nil, nil // as the port says, a missing payload is no error
}

// under returns the payloads in memory under a block hash, each once. Payloads whose headers were
// served come first, the last served before others.
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
	if held := s.hold(id); !s.FetchServedOnly {
		s.fetch(id, held)
	}
	tops = append(tops, id)
	if len(tops) > shownTops {
		s.release(tops[0])
		tops = slices.Delete(tops, 0, 1)
	}
	s.shown[key] = tops
}

// Header notes that a header was served. It never blocks, and allocates nothing if the same header
// is served again.
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
	maps.DeleteFunc(s.stands, func(id relay.PayloadID, _ struct{}) bool { return id.Slot < before })
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

// here returns a payload that is in memory; nil if it is not.
func (s *Payloads) here(id relay.PayloadID) *relay.Contents {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.held[id]; held != nil {
		return held.contents
	}
	return nil
}

// fetch reads a payload from the escrow that is no longer in memory. This happens when a bid leads
// again because a better one was cancelled. A header submission's payload may be in neither place
// yet; its Put will bring it. The caller holds mu.
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

// hold notes that one more of them has a payload. The caller holds mu.
func (s *Payloads) hold(id relay.PayloadID) *heldContents {
	if s.held == nil {
		s.held = map[relay.PayloadID]*heldContents{}
	}
	held := s.held[id]
	if held == nil {
		held = &heldContents{}
		s.held[id] = held
	}
	held.references++
	return held
}

// release notes that one of them less has a payload, and forgets it if none has. The caller
// holds mu.
func (s *Payloads) release(id relay.PayloadID) {
	held := s.held[id]
	if held.references--; held.references == 0 {
		delete(s.held, id)
	}
}

// trimRecent forgets the oldest settled payloads that are too much. The newest stays. The caller
// holds mu.
func (s *Payloads) trimRecent() {
	for at := 0; s.bytes > recentBytes && at < len(s.recent)-1; {
		if !s.recent[at].settled {
			at++
			continue
		}
		s.forgetRecent(at)
	}
}

// forgetRecent forgets that a payload came lately. The caller holds mu.
func (s *Payloads) forgetRecent(at int) {
	r := s.recent[at]
	s.bytes -= r.bytes
	s.recent = slices.Delete(s.recent, at, at+1)
	s.release(r.PayloadID)
}
