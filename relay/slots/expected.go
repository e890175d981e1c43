package slots

import (
	"context"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Expected is a payload that has to follow a header.
type Expected struct {
	slots *Slots
	block phase0.Hash32
	ended chan struct{}
	once  sync.Once
}

// Expect notes that the payload of a block has to follow a header. The caller must call End.
func (s *Slots) Expect(block phase0.Hash32) *Expected {
	e := &Expected{slots: s, block: block, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expected == nil {
		s.expected = map[*Expected]struct{}{}
	}
	s.expected[e] = struct{}{}
	return e
}

// End notes that the payload has come, or will not come in time. It may be called more than once.
func (e *Expected) End() {
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	delete(e.slots.expected, e)
	e.once.Do(func() { close(e.ended) })
}

// Ended is closed by End.
func (e *Expected) Ended() <-chan struct{} { return e.ended }

// Await waits for the payload of a header until it has come or is too late. It then returns true,
// and the caller should look for the payload again. It returns false when the context ends, and at
// once if no payload of the block is expected.
func (s *Slots) Await(ctx context.Context, block phase0.Hash32) bool {
	expected := s.expectedOf(block)
	if expected == nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-expected.ended:
		return true
	}
}

// expectedOf returns one of the expected payloads of a block; nil if none is expected.
func (s *Slots) expectedOf(block phase0.Hash32) *Expected {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.expected {
		if e.block == block {
			return e
		}
	}
	return nil
}
