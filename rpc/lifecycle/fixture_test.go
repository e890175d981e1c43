package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/pool"
)

var alice, bob, carol = common.Address{0xa}, common.Address{0xb}, common.Address{0xc}

// lifecycleTest is a lifecycle among ports that do what the test says. It writes down what they are
// told, in one order:
//
//	accepted 1, simulated 1 for 101, sent 1 to b, ended 1 landed …   facts
//	shared 1                                                         fact of an order that strangers are told of
//	send 1 for 101, forget 1 at b                                    what the sender is asked for
//	index 101, revert 101                                           what the indexer is asked for
type lifecycleTest struct {
	t         *testing.T
	lifecycle *Lifecycle
	chain     *chain
	past      []rpc.Fact // all facts, for a later life

	mu    sync.Mutex // guards what follows
	lines []string
	// results are what simulations find, by transaction; success without one. hold, if set, is
	// received from before each result.
	results map[common.Hash]exec.BundleResult
	broken  error // of every simulation
	hold    chan struct{}
	silent  bool // builders answer when the test says: told
	told    []func(rpc.Delivery)
	// recordLandings is what the indexer says, unsettled its error.
	paid      map[uint64]*uint256.Int
	unindexed error
	// unacked, if set, is what the journal says of what is promised; journal, if set, is received from
	// before each of its answers.
	unacked error
	journal chan struct{}
}

// newLifecycleTest is a lifecycle without orders on a chain whose newest block is 100. It runs with
// run.
func newLifecycleTest(t *testing.T) *lifecycleTest {
	t.Helper()
	s := &lifecycleTest{t: t, chain: newChain(), results: map[common.Hash]exec.BundleResult{}}
	s.chain.add(100)
	s.lifecycle = s.newLifecycle()
	return s
}

func (s *lifecycleTest) newLifecycle() *Lifecycle {
	return New(Config{
		Pool: pool.New(pool.Config{}), Chain: s.chain, Simulator: s, Sender: s, Indexer: indexer{s}, Ranking: s, Facts: s,
		Clock:     clock.Real{},
		Log:       slog.New(slog.NewTextHandler(s.t.Output(), nil)),
		Senders:   bundle.NewChain(types.LatestSignerForChainID(big.NewInt(1))),
		BlockTime: 12 * time.Second, Workers: 2,
	})
}

// run begins the lifecycle, and ends it with the test.
func (s *lifecycleTest) run() {
	s.t.Helper()
	if err := s.lifecycle.Begin(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.lifecycle.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
}

// script runs a test in a bubble with a running lifecycle.
func script(t *testing.T, play func(s *lifecycleTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		s := newLifecycleTest(t)
		s.run()
		play(s)
	})
}

func (s *lifecycleTest) write(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// want waits until nothing happens any more, and compares what did: first what a block is the end
// of, then the rest.
func (s *lifecycleTest) want(lines ...string) {
	s.t.Helper()
	if got := s.takeLines(); got != strings.Join(lines, ", ") {
		s.t.Errorf("\ngot  %s\nwant %s", got, strings.Join(lines, ", "))
	}
}

// wantBlocks is want for several blocks at once, between which workers may get something done or
// not. It leaves out what they do, and returns that.
func (s *lifecycleTest) wantBlocks(lines ...string) (work string) {
	s.t.Helper()
	var got, rest []string
	for line := range strings.SplitSeq(s.takeLines(), ", ") {
		if kind, _, _ := strings.Cut(line, " "); slices.Contains([]string{"simulated", "send", "sent"}, kind) {
			rest = append(rest, line)
		} else {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, lines) {
		s.t.Errorf("\ngot  %s\nwant %s", strings.Join(got, ", "), strings.Join(lines, ", "))
	}
	return strings.Join(rest, ", ")
}

func (s *lifecycleTest) takeLines() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	// Blocks are indexed beside the work for the next one.
	slices.SortStableFunc(s.lines, func(a, b string) int { return cmp.Compare(orderOfLine(a), orderOfLine(b)) })
	got := strings.Join(s.lines, ", ")
	s.lines = nil
	return got
}

func orderOfLine(line string) int {
	if chainLine.MatchString(line) {
		return 0
	}
	return 1
}

var chainLine = regexp.MustCompile(`^(index|revert|returned|ended \d+ (landed|expired))\b`)

// Record implements rpc.Facts.
func (s *lifecycleTest) Record(fact rpc.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = append(s.past, fact)
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		s.lines = append(s.lines, fmt.Sprintf("accepted %d", f.Order.ID))
	case rpc.OrderExtended:
		s.lines = append(s.lines, fmt.Sprintf("extended %d", f.ID))
	case rpc.OrderSimulated:
		line := fmt.Sprintf("simulated %d for %d", f.ID, f.Block)
		if f.Error != "" {
			line += ": " + f.Error
		}
		s.lines = append(s.lines, line)
	case rpc.OrderShared:
		s.lines = append(s.lines, fmt.Sprintf("shared %d", f.ID))
	case rpc.OrderSent:
		s.lines = append(s.lines, fmt.Sprintf("sent %d to %s", f.ID, f.Builder))
	case rpc.OrderEnded:
		line := fmt.Sprintf("ended %d %s", f.ID, f.State)
		if f.ValueWei != nil {
			line += " for " + f.ValueWei.Dec()
		}
		s.lines = append(s.lines, line)
	case rpc.OrderReturned:
		s.lines = append(s.lines, fmt.Sprintf("returned %d", f.ID))
	}
}

// Keep implements rpc.DurableFacts.
func (s *lifecycleTest) Keep(facts ...rpc.Fact) (kept func() error) {
	for _, fact := range facts {
		s.Record(fact)
	}
	return func() error {
		s.mu.Lock()
		held, err := s.journal, s.unacked
		s.mu.Unlock()
		if held != nil {
			<-held
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.unacked
		}
		return err
	}
}

// High implements Ranking.
func (s *lifecycleTest) High(common.Address) bool { return false }

// Call implements exec.Simulator.
func (s *lifecycleTest) Call(context.Context, []exec.Tx, exec.Environment) (*exec.CallResult, error) {
	return nil, errors.New("the lifecycle calls nothing")
}

// Simulate implements exec.Simulator.
func (s *lifecycleTest) Simulate(ctx context.Context, b *exec.Bundle, _ exec.Environment) (*exec.BundleResult, error) {
	s.mu.Lock()
	result, known := s.results[b.Elements[len(b.Elements)-1].Tx.Hash()]
	broken, hold := s.broken, s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !known {
		result = exec.BundleResult{Success: true, ProfitWei: uint256.NewInt(1), RefundableWei: uint256.NewInt(1),
			MevGasPriceWei: uint256.NewInt(2)}
	}
	if result.Success {
		result.Txs = ran(b)
	}
	return &result, broken
}

// ran are results of all transactions of a bundle. Each used as much gas as its nonce says, and
// wrote a log with that.
func ran(b *exec.Bundle) (results []exec.TxResult) {
	for _, e := range b.Elements {
		if e.Bundle != nil {
			results = append(results, ran(e.Bundle)...)
			continue
		}
		wrote := &types.Log{Address: common.Address{0x10}, Data: []byte{byte(e.Tx.Nonce())}}
		results = append(results, exec.TxResult{Hash: e.Tx.Hash(), From: e.Tx.From, GasUsed: e.Tx.Nonce(),
			Logs: []*types.Log{wrote}})
	}
	return results
}

// Send implements Sender: builder b gets everything.
func (s *lifecycleTest) Send(order *rpc.Order, block uint64, told func(rpc.Delivery)) {
	s.write("send %d for %d", order.ID, block)
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := func() { told(rpc.Delivery{Builder: "b", Block: block}) }; s.silent {
		s.told = append(s.told, told)
	} else {
		go answer()
	}
}

// Cancel implements Sender.
func (s *lifecycleTest) Cancel(order *rpc.Order, builders []string) {
	s.write("%s", strings.TrimSpace(fmt.Sprintf("forget %d at %s", order.ID, strings.Join(builders, " "))))
}

// indexer is the test's Indexer: its methods' names are taken.
type indexer struct{ *lifecycleTest }

// Index implements Indexer.
func (s indexer) Index(_ context.Context, at time.Time, block *types.Block,
	landed []*rpc.Order) (map[uint64]*uint256.Int, error) {
	line := fmt.Sprint("index ", block.NumberU64())
	for _, order := range landed {
		line += fmt.Sprint(" with ", order.ID)
	}
	s.write("%s", line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unindexed == nil {
		s.past = append(s.past, rpc.BlockIndexed{At: at, Head: headOf(block.Header())})
	}
	return s.paid, s.unindexed
}

// Revert implements Indexer.
func (s indexer) Revert(at time.Time, block rpc.Head) {
	s.write("revert %d", block.Number)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = append(s.past, rpc.BlockReverted{At: at, Head: block})
}

// set changes what the ports do.
func (s *lifecycleTest) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// gasLimitOfOrders is what each of their transactions may use.
const gasLimitOfOrders = 21_000

// orderOf is an order of one transaction for some blocks. The same number is the same transaction.
func orderOf(signer common.Address, number, first, last uint64) *rpc.Order {
	tx := types.NewTx(&types.LegacyTx{Nonce: number, Gas: gasLimitOfOrders})
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return &rpc.Order{Kind: rpc.KindBundle, Signer: signer, Bundle: rpc.Bundle{
		Hash: tx.Hash(), Window: rpc.Window{FirstBlock: first, LastBlock: last},
		Elements: []rpc.Element{{Tx: &rpc.Transaction{Raw: raw, Hash: tx.Hash(), From: signer, Nonce: number}}},
	}}
}

// version is a bundle with a replacementUuid.
func version(signer common.Address, number, first, last uint64, replacement byte) *rpc.Order {
	order := orderOf(signer, number, first, last)
	order.Replacement = uuid.UUID{replacement}
	return order
}

func (s *lifecycleTest) submit(order *rpc.Order) *rpc.Order {
	s.t.Helper()
	taken, err := s.lifecycle.Submit(time.Now(), order)
	if err != nil {
		s.t.Fatal(err)
	}
	return taken
}

// cancel cancels what a signer has under the replacementUuid of all tests.
func (s *lifecycleTest) cancel(signer common.Address) {
	s.t.Helper()
	if err := s.lifecycle.Cancel(time.Now(), signer, uuid.UUID{7}); err != nil {
		s.t.Error(err)
	}
}

func (s *lifecycleTest) cancelPrivate(signer common.Address, order *rpc.Order) bool {
	s.t.Helper()
	cancelled, err := s.lifecycle.CancelPrivate(time.Now(), signer, order.Hash())
	if err != nil {
		s.t.Error(err)
	}
	return cancelled
}

// chain is a scripted exec.Chain.
type chain struct {
	mu     sync.Mutex // guards what follows
	blocks map[common.Hash]*types.Block
	head   *types.Block
	unread map[uint64]error // blocks that cannot be read
	ended  error            // of Follow, once new is closed
	salt   int
	asked  int

	news chan *types.Block
}

func newChain() *chain {
	return &chain{blocks: map[common.Hash]*types.Block{}, unread: map[uint64]error{}, news: make(chan *types.Block)}
}

// add makes the newest block, on the one of the number before, with the transactions of orders.
func (c *chain) add(number uint64, orders ...*rpc.Order) *types.Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.salt++
	header := &types.Header{Number: new(big.Int).SetUint64(number), Time: number * 12, Extra: fmt.Append(nil, c.salt)}
	for parent := c.head; parent != nil; parent = c.blocks[parent.ParentHash()] {
		if parent.NumberU64() == number-1 {
			header.ParentHash = parent.Hash()
			break
		}
	}
	var txs []*types.Transaction
	for _, order := range orders {
		for tx := range order.Bundle.Transactions() {
			txs = append(txs, types.NewTx(&types.LegacyTx{Nonce: tx.Nonce, Gas: gasLimitOfOrders}))
		}
	}
	c.head = types.NewBlockWithHeader(header).WithBody(types.Body{Transactions: txs})
	c.blocks[c.head.Hash()] = c.head
	return c.head
}

// mine adds a block, and those who follow the chain see it.
func (s *lifecycleTest) mine(number uint64, orders ...*rpc.Order) *types.Block {
	block := s.chain.add(number, orders...)
	s.chain.news <- block
	return block
}

// Head implements exec.Chain.
func (c *chain) Head(context.Context) (*types.Header, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == nil {
		return nil, exec.ErrNode
	}
	return c.head.Header(), nil
}

// Block implements exec.Chain.
func (c *chain) Block(_ context.Context, hash common.Hash) (*types.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	block := c.blocks[hash]
	if block == nil {
		return nil, exec.ErrUnknownBlock
	}
	return block, c.unread[block.NumberU64()]
}

// Follow implements exec.Chain.
func (c *chain) Follow(ctx context.Context, _ common.Hash, handle func(*types.Block) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case block, open := <-c.news:
			if !open {
				return c.ended
			}
			if err := handle(block); err != nil {
				return err
			}
		}
	}
}

// restart is the next life: a lifecycle that has read the facts of this one, which must not run any
// more.
func (s *lifecycleTest) restart() {
	s.lifecycle = s.newLifecycle()
	for _, fact := range slices.Clone(s.past) {
		s.lifecycle.Apply(fact)
	}
	s.lines = nil
}
