package orders

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
)

// A private transaction is tried for 25 blocks from the first one that is built after it came, and
// no longer than it says itself.
func TestAPrivateTransactionIsTriedFor25Blocks(t *testing.T) {
	s := newMarket(t)
	s.Want(`"`+s.Hash("P").Hex()+`"`, "eth_sendPrivateTransaction", chaintest.Object{"tx": s.Raw("P")})
	s.Want(`"`+s.Hash("Q").Hex()+`"`, "eth_sendPrivateTransaction",
		chaintest.Object{"tx": s.Raw("Q"), "maxBlockNumber": "0x68"})
	var got []string
	for block := uint64(100); block < 130; block++ {
		var names types.Transactions
		for _, order := range s.intake.queue.forBlock(block, 1_700_000_000+12*block) {
			names = append(names, order.Bundle.Elements[0].Tx.Transaction)
		}
		if line := s.Names(names); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], ": "+line) {
			got = append(got, fmt.Sprintf("%d: %s", block, line))
		}
	}
	if want := "100: P Q|105: P|125: "; strings.Join(got, "|") != want {
		t.Errorf("tried %s, want %s", strings.Join(got, "|"), want)
	}
	if left := len(s.intake.queue.orders); left != 0 {
		t.Errorf("%d orders are kept", left)
	}
}

// What was over two blocks ago is forgotten, what only was over a block ago is not: the chain may
// go back.
func TestOrdersAreForgotten(t *testing.T) {
	var q queue
	q.add(&Order{Window: Window{FirstBlock: 10, LastBlock: 10}})
	for _, step := range []struct {
		block      uint64
		want, kept int
	}{{9, 0, 1}, {10, 1, 1}, {11, 0, 1}, {12, 0, 1}, {10, 1, 1}, {13, 0, 0}, {10, 0, 0}} {
		if got := len(q.forBlock(step.block, 0)); got != step.want || len(q.orders) != step.kept {
			t.Errorf("block %d: %d orders, %d are kept; want %d and %d", step.block, got, len(q.orders), step.want, step.kept)
		}
	}
}
