package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// Signers take turns; each one's orders keep their order; a new block's orders replace all.
func TestLine(t *testing.T) {
	order := func(signer byte, id uint64) *rpc.Order { return &rpc.Order{ID: id, Signer: common.Address{signer}} }
	drain := func(l *simQueue) string {
		var ids []string
		for next, ok := l.next(); ok; next, ok = l.next() {
			ids = append(ids, fmt.Sprint(next.order.ID))
			l.finish(next, time.Millisecond)
		}
		return strings.Join(ids, " ")
	}
	l := newSimQueue(1, func(common.Address) bool { return false })
	for _, o := range []*rpc.Order{order('a', 1), order('b', 2), order('c', 3), order('a', 4), order('c', 5),
		order('a', 7), order('a', 8)} {
		l.add(o)
	}
	if got := drain(l); got != "1 2 3 4 5 7 8" {
		t.Errorf("in order %s", got)
	}
	<-l.ready // one token may be left over
	l.add(order('a', 1))
	next, _ := l.next()
	l.add(order('a', 6))
	if l.isOver(next.round) {
		t.Error("a round ends without a block")
	}
	l.replace([]*rpc.Order{order('b', 2), order('b', 3), order('d', 4)})
	select {
	case <-l.ready:
	default:
		t.Error("nobody is told of the orders of a new block")
	}
	if !l.isOver(next.round) {
		t.Error("a block does not end the round")
	}
	l.finish(next, time.Millisecond)
	if got := drain(l); got != "2 4 3" {
		t.Errorf("after a new block %s", got)
	}
}

// The orders of many keys of one network are one stranger's, and those that take seconds count for
// as long as they take: somebody else's order comes at once, and one of a known signer finds a
// place whatever strangers do.
func TestQueueKnowsTheNetwork(t *testing.T) {
	known := common.Address{0xa}
	l := newSimQueue(2, func(signer common.Address) bool { return signer == known })
	for key := range uint64(1000) {
		l.add(&rpc.Order{ID: 1 + key, Signer: common.Address{1, byte(key >> 8), byte(key)}, Source: "203.0.113.7"})
	}
	first, _ := l.next()
	if second, ok := l.next(); ok {
		t.Fatalf("order %d runs beside order %d: strangers of whom nothing is known take both places", second.order.ID,
			first.order.ID)
	}
	l.add(&rpc.Order{ID: 2000, Signer: known})
	if next, ok := l.next(); !ok || next.order.ID != 2000 {
		t.Fatalf("the place that is left is not for who is known: %v", next.order)
	} else {
		l.finish(next, time.Millisecond)
	}
	l.add(&rpc.Order{ID: 3000, Signer: common.Address{0xb}, Source: "198.51.100.1"})
	l.finish(first, 5*time.Second)
	if next, ok := l.next(); !ok || next.order.ID != 3000 {
		t.Fatalf("after an order of five seconds comes %v of the same network", next.order)
	}
	if exec.FlowQuantum > time.Second {
		t.Error("five seconds are not slow")
	}
}
