package desk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Signers take turns; each one's orders keep their order; a new block's orders replace all.
func TestLine(t *testing.T) {
	order := func(signer byte, id uint64) *rpc.Order { return &rpc.Order{ID: id, Signer: common.Address{signer}} }
	drain := func(l *line) string {
		var ids []string
		for o, _ := l.next(); o != nil; o, _ = l.next() {
			ids = append(ids, fmt.Sprint(o.ID))
		}
		return strings.Join(ids, " ")
	}
	l := newLine()
	for _, o := range []*rpc.Order{order('a', 1), order('b', 2), order('c', 3), order('a', 4), order('c', 5), order('a', 7), order('a', 8)} {
		l.add(o)
	}
	if got := drain(l); got != "1 2 3 4 5 7 8" {
		t.Errorf("in order %s", got)
	}
	select {
	case <-l.ready: // one token may be left over
	default:
	}
	l.add(order('a', 1))
	_, round := l.next()
	l.add(order('a', 6))
	if l.isOver(round) {
		t.Error("a round ends without a block")
	}
	l.replace([]*rpc.Order{order('b', 2), order('b', 3), order('d', 4)})
	select {
	case <-l.ready:
	default:
		t.Error("nobody is told of the orders of a new block")
	}
	if !l.isOver(round) {
		t.Error("a block does not end the round")
	}
	if got := drain(l); got != "2 4 3" {
		t.Errorf("after a new block %s", got)
	}
}
