package user

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/internal/clock"
)

// counted is a node whose newest block has what block says, and that takes any nonce.
type counted struct {
	node
	block map[common.Address]uint64
	at    func() time.Time
	times []time.Duration
	begin time.Time
}

// GetTransactionCount is eth_getTransactionCount.
func (n *counted) GetTransactionCount(address common.Address, _ string) hexutil.Uint64 {
	return hexutil.Uint64(n.block[address])
}

// SendRawTransaction is eth_sendRawTransaction.
func (n *counted) SendRawTransaction(raw hexutil.Bytes) (common.Hash, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	n.times = append(n.times, n.at().Sub(n.begin))
	if tx.Nonce() == 9 {
		return common.Hash{}, fmt.Errorf("nonce too low: next nonce 12, tx nonce %d", tx.Nonce())
	}
	n.got = append(n.got, tx)
	return tx.Hash(), nil
}

// replaySteps are steps of two senders: a replacement, a nonce that the node refuses, a contract,
// and each type.
func replaySteps() []mempool.Step {
	at := func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
	steps := []mempool.Step{
		{After: 0, Sender: 1, Type: 2, TipWei: 5, FeeWei: 50, Bytes: 7, NonZero: 3, To: [20]byte{4}, ValueWei: 6},
		{After: at(250), Sender: 0, Type: 0, TipWei: 40, FeeWei: 40},
		{After: at(250), Sender: 1, Type: 2, TipWei: 9, FeeWei: 90, Replaces: true},
		{After: at(13_000), Sender: 0, Nonce: 1, Type: 1, TipWei: 40, FeeWei: 40, Creates: true, Bytes: 9},
	}
	for nonce := range uint64(9) {
		steps = append(steps, mempool.Step{After: at(14_000), Sender: 1, Nonce: nonce + 1, FeeWei: 1, TipWei: 1})
	}
	for i := range steps {
		steps[i].Gas = 60_000
	}
	return steps
}

// Everything is sent at its time, in the plan's order and as the plan says; what the node refuses
// is counted, and the counts add up.
func TestReplaySends(t *testing.T) {
	n := &counted{block: map[common.Address]uint64{addressOf(wallets(2)[0]): 2, addressOf(wallets(2)[1]): 5}}
	begin := time.Unix(1_700_000_000, 0)
	stepping := &steppingClock{Time: begin, Left: 100}
	n.at, n.begin = stepping.Now, begin
	plan := &mempool.Plan{Steps: replaySteps(), Senders: 2, Nonces: 12, Rows: 20, Left: mempool.Counts{"x": 7}}
	r := NewReplay(ReplayConfig{Plan: plan, Wallets: wallets(2), ChainID: testChainID, Begin: begin, Clock: stepping,
		RPC: n.dialAs(t, n)})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(n.times) != len(plan.Steps) || len(n.got) != len(plan.Steps)-1 {
		t.Fatalf("%d calls, %d taken", len(n.times), len(n.got))
	}
	for i, s := range plan.Steps {
		if n.times[i] != s.After {
			t.Errorf("step %d is sent after %v in place of %v", i, n.times[i], s.After)
		}
	}
	for i, tx := range n.got {
		s := plan.Steps[i]
		from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
		if err != nil || from != addressOf(wallets(2)[s.Sender]) || tx.Nonce() != s.Nonce || tx.Type() != s.Type ||
			tx.GasTipCap().Uint64() != s.TipWei || tx.GasFeeCap().Uint64() != s.FeeWei || len(tx.Data()) != int(s.Bytes) ||
			tx.Gas() != s.Gas || tx.Value().Uint64() != s.ValueWei || (tx.To() == nil) != s.Creates ||
			tx.ChainId().Uint64() != testChainID {
			t.Errorf("%d: %v: %+v is %+v", i, err, s, tx)
		}
	}
	o, err := r.Outcome(t.Context())
	if err != nil || o.Reached != 13 || o.Accepted != 12 || o.Replaced != 1 || o.Included != 7 || o.Waiting() != 4 ||
		len(o.Refused) != 1 || o.Refused["nonce too low"] != 1 {
		t.Errorf("%v: %+v", err, o)
	}
}

// A run that ends before the plan does counts what was sent until then.
func TestReplayStops(t *testing.T) {
	n := &counted{}
	begin := time.Unix(1_700_000_000, 0)
	ctx, cancel := context.WithCancel(t.Context())
	stepping := &steppingClock{Time: begin, Left: 2, End: cancel}
	n.at, n.begin = stepping.Now, begin
	plan := &mempool.Plan{Steps: replaySteps(), Senders: 2, Nonces: 12, Left: mempool.Counts{}}
	r := NewReplay(ReplayConfig{Plan: plan, Wallets: wallets(2), ChainID: testChainID, Begin: begin, Clock: stepping,
		RPC: n.dialAs(t, n)})
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if o, err := r.Outcome(t.Context()); err != nil || o.Reached != 3 || o.Accepted != 3 {
		t.Errorf("%v: %+v", err, o)
	}
}

// A node that does not answer refuses, and a long file goes in requests of a bounded size.
func TestReplayBatches(t *testing.T) {
	n := &counted{}
	begin := time.Unix(1_700_000_000, 0)
	n.at, n.begin = func() time.Time { return begin }, begin
	plan := &mempool.Plan{Senders: 1, Left: mempool.Counts{}}
	for nonce := range uint64(1_200) {
		plan.Steps = append(plan.Steps, mempool.Step{Nonce: nonce + 10, Gas: 21_000, Bytes: 4_000})
	}
	plan.Nonces = 1_210
	client := n.dialAs(t, n)
	r := NewReplay(ReplayConfig{Plan: plan, Wallets: wallets(1), ChainID: testChainID, Begin: begin, Clock: clock.Real{},
		RPC: client})
	if err := r.Run(t.Context()); err != nil || len(n.got) != 1_200 || r.outcome.Accepted != 1_200 {
		t.Fatalf("%v: %d taken", err, len(n.got))
	}
	if !slices.IsSortedFunc(n.got, func(a, b *types.Transaction) int { return int(a.Nonce()) - int(b.Nonce()) }) {
		t.Error("the order is another")
	}
	client.Close()
	if err := r.send(t.Context(), plan.Steps[:3]); err != nil || r.outcome.Refused["client is closed"] != 3 {
		t.Errorf("%v: %+v", err, r.outcome.Refused)
	}
	if _, err := r.Outcome(t.Context()); err == nil {
		t.Error("the nonces were read without a node")
	}
	if reason(errors.New("a: b: 7")) != "a" {
		t.Error("the numbers of a case are in the reason")
	}
}
