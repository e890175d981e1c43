package app

import (
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// factsSeen keeps all facts, for tests that wait for one.
type factsSeen struct {
	mu   sync.Mutex
	all  []rpc.Fact
	more chan struct{}
}

func newFactsSeen() *factsSeen { return &factsSeen{more: make(chan struct{})} }

func (f *factsSeen) record(fact rpc.Fact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fact)
	close(f.more)
	f.more = make(chan struct{})
}

// reset forgets all facts.
func (f *factsSeen) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = nil
}

// wait returns the first fact, from the beginning on, that is the one.
func (f *factsSeen) wait(t testing.TB, what string, is func(rpc.Fact) bool) rpc.Fact {
	t.Helper()
	for seen := 0; ; {
		f.mu.Lock()
		all, more := f.all, f.more
		f.mu.Unlock()
		for ; seen < len(all); seen++ {
			if is(all[seen]) {
				return all[seen]
			}
		}
		select {
		case <-more:
		case <-time.After(20 * time.Second): // only when the test fails
			t.Fatalf("no %s; %d facts", what, seen)
		}
	}
}

// waitFor is wait for a fact of a type that fulfils a condition.
func waitFor[F rpc.Fact](h *service, what string, is func(F) bool) F {
	h.Helper()
	return h.facts.wait(h.TB, what, func(fact rpc.Fact) bool {
		f, ok := fact.(F)
		return ok && is(f)
	}).(F)
}

// waitForIndexed waits until the service has counted the newest block, and ended all orders that it
// has.
func (s *service) waitForIndexed() {
	s.Helper()
	head := s.node.Chain().CurrentBlock().Hash()
	there := map[common.Hash]bool{}
	for _, tx := range s.node.Chain().GetBlockByHash(head).Transactions() {
		there[tx.Hash()] = true
	}
	counted, in, open := false, map[uint64]bool{}, map[uint64]bool{}
	s.facts.wait(s, "count of the newest block", func(fact rpc.Fact) bool {
		switch f := fact.(type) {
		case rpc.OrderAccepted:
			for tx := range f.Order.Bundle.Transactions() {
				in[f.Order.ID] = in[f.Order.ID] || there[tx.Hash]
			}
			open[f.Order.ID] = in[f.Order.ID]
		case rpc.OrderReturned:
			open[f.ID] = in[f.ID]
		case rpc.OrderEnded:
			delete(open, f.ID)
		case rpc.BlockIndexed:
			counted = counted || f.Hash == head
		}
		for _, waits := range open {
			if waits {
				return false
			}
		}
		return counted
	})
}
