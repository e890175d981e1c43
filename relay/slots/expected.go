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

// Expect notes that the payload of a block has to follow a header. The caller ends that.
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

// End says that the payload has come, or will not come in time. It may be called again.
func (e *Expected) End() {
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	delete(e.slots.expected, e)
	e.once.Do(func() { close(e.ended) })
}

// Ended is closed by End.
func (e *Expected) Ended() <-chan struct{} { return e.ended }

// Await waits until a payload that has to follow a header of a block has come, or comes too late:
// then it is worth looking again. It is false at once if none is expected, and when the context
// ends.
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

// expectedOf is one of the payloads of a block that have to follow; nil if none has.
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
