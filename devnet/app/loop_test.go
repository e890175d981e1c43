package app

import (
	"context"
	"crypto/ecdsa"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/network"
)

// customer is somebody outside who sends a private transaction to a running devnet and looks at
// what becomes of it: on the chain by the execution node's JSON-RPC, in the ledger by the bundle
// RPC.
type customer struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	chain   *ethclient.Client
	bundles *rpc.Client
	// bundleURL is where the bundle RPC is.
	bundleURL string
	sent      *types.Transaction
}

func newCustomer(t *testing.T, run display.Run) *customer {
	t.Helper()
	// The account of examples: its key is known to everybody, and it has money.
	key, err := crypto.HexToECDSA("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
	if err != nil {
		t.Fatal(err)
	}
	urls := map[string]string{}
	for _, endpoint := range run.Endpoints {
		urls[endpoint.Name] = endpoint.URL
	}
	c := &customer{t: t, key: key, bundleURL: urls["bundle RPC"]}
	if c.chain, err = ethclient.Dial(urls["execution RPC"]); err != nil {
		t.Fatal(err)
	}
	if c.bundles, err = Dial(context.Background(), urls["bundle RPC"], key); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *customer) address() common.Address { return crypto.PubkeyToAddress(c.key.PublicKey) }

// swap sends a great swap privately, with preferences as they are by default: what searchers see is
// that pool A moves.
func (c *customer) swap() {
	c.t.Helper()
	tx, err := types.SignNewTx(c.key, types.LatestSignerForChainID(big.NewInt(network.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(network.ChainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas: chain.SwapGas,
		To:  &chain.RouterAt, Value: new(big.Int).Mul(big.NewInt(60), big.NewInt(params.Ether)),
		Data: chain.BuyCall(chain.PoolA, new(uint256.Int)),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		c.t.Fatal(err)
	}
	var hash common.Hash
	if err := c.bundles.Call(&hash, "eth_sendPrivateTransaction", map[string]any{"tx": hexutil.Bytes(raw)}); err != nil {
		c.t.Fatal(err)
	}
	if hash != tx.Hash() {
		c.t.Errorf("the transaction is called %s, want %s", hash, tx.Hash())
	}
	c.sent = tx
}

// refund is what the ledger says.
type refund struct {
	Hash      common.Hash
	Amount    *hexutil.U256
	Status    string
	Recipient common.Address
}

// ledger asks for refunds.
func (c *customer) ledger(method string, param any) []refund {
	c.t.Helper()
	var page struct{ Refunds []refund }
	if err := c.bundles.Call(&page, method, param); err != nil {
		c.t.Fatal(err)
	}
	return page.Refunds
}

// block is a block with what its transactions did.
func (c *customer) block(number uint64) (*types.Block, types.Receipts) {
	c.t.Helper()
	ctx := context.Background()
	block, err := c.chain.BlockByNumber(ctx, new(big.Int).SetUint64(number))
	if err != nil {
		c.t.Fatal(err)
	}
	receipts, err := c.chain.BlockReceipts(ctx, rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(number)))
	if err != nil {
		c.t.Fatal(err)
	}
	return block, receipts
}

// The whole way, wei by wei: somebody swaps privately; a searcher who was told of it follows; the
// builder puts both into a block and pays the user 90 % of what the backrun paid, less 30,000 gas
// at the base fee; the ledger says so too.
func TestTheUserGetsNinetyPercent(t *testing.T) {
	cfg := testConfig(6)
	cfg.Searchers, cfg.Builders = 2, 1
	out := new(watched)
	var c *customer
	out.onSlot = func(s display.Slot) {
		switch s.Number {
		case 1:
			c = newCustomer(t, out.run)
			c.swap()
		case 6:
			c.wantNinetyPercent()
		}
	}
	sum, err := Run(t.Context(), cfg, nil, out)
	if err != nil {
		t.Fatalf("%v, %s, %s", err, sum.Verdict(), out.notes)
	}
	if f := sum.Flow; f.Orders != 1 || f.Hints != 1 || f.Backruns != 2 || f.Landed == 0 || f.Refunds == 0 {
		t.Errorf("the viewer is told of %+v", f)
	}
}

func (c *customer) wantNinetyPercent() {
	c.t.Helper()
	receipt, err := c.chain.TransactionReceipt(context.Background(), c.sent.Hash())
	if err != nil {
		c.t.Fatal(err)
	}
	number := receipt.BlockNumber.Uint64()
	block, receipts := c.block(number)
	at := int(receipt.TransactionIndex)
	txs := block.Transactions()
	if receipt.Status != types.ReceiptStatusSuccessful || len(txs) < at+3 || *txs[at+1].To() != chain.BackrunAt {
		c.t.Fatalf("the swap is number %d of %d in its block, its status %d", at, len(txs), receipt.Status)
	}
	// What the backrun paid follows from the pools' reserves, which were never moved before.
	_, moved := chain.Opening().Buy(uint256.MustFromBig(c.sent.Value()))
	_, profit := chain.Gap(moved, chain.Opening())
	percent := new(uint256.Int).SetBytes(txs[at+1].Data()[4+2*32:])
	value := part(profit, percent.Uint64())
	want := part(value, 90)
	want.Sub(want, new(uint256.Int).Mul(uint256.NewInt(30_000), uint256.MustFromBig(block.BaseFee())))
	c.t.Logf("the gap was worth %s wei, the searcher paid %s %% of it, %s wei; the user gets %s", profit,
		percent, value, want)

	payout := txs[at+2]
	payer, err := types.Sender(types.LatestSignerForChainID(big.NewInt(network.ChainID)), payout)
	if err != nil || payer != block.Coinbase() || *payout.To() != c.address() || payout.Value().Cmp(want.ToBig()) != 0 {
		c.t.Errorf("%s pays %s wei to %s, %v; want %s from %s", payer, payout.Value(), payout.To(), err, want,
			block.Coinbase())
	}
	if receipts[at+2].Status != types.ReceiptStatusSuccessful {
		c.t.Error("the payout fails")
	}
	c.wantBalance(number, want, receipt)
	c.wantLedger(want)
}

// wantBalance checks that the user has what it had, less what it paid, and the refund.
func (c *customer) wantBalance(number uint64, refundWei *uint256.Int, receipt *types.Receipt) {
	c.t.Helper()
	balance := func(number uint64) *big.Int {
		wei, err := c.chain.BalanceAt(context.Background(), c.address(), new(big.Int).SetUint64(number))
		if err != nil {
			c.t.Fatal(err)
		}
		return wei
	}
	want := balance(number - 1)
	want.Sub(want, c.sent.Value())
	want.Sub(want, new(big.Int).Mul(new(big.Int).SetUint64(receipt.GasUsed), receipt.EffectiveGasPrice))
	want.Add(want, refundWei.ToBig())
	if got := balance(number); got.Cmp(want) != 0 {
		c.t.Errorf("the user has %s wei, want %s", got, want)
	}
}

// wantLedger checks that the ledger has one refund for the user, for its transaction, received, of
// this amount.
func (c *customer) wantLedger(refundWei *uint256.Int) {
	c.t.Helper()
	refunds := c.ledger("flashbots_getFeeRefundsByRecipient", map[string]any{"recipient": c.address()})
	if len(refunds) != 1 {
		c.t.Fatalf("the ledger has %d refunds, want 1", len(refunds))
	}
	r := refunds[0]
	if r.Hash != c.sent.Hash() || r.Status != "received" || r.Recipient != c.address() ||
		!(*uint256.Int)(r.Amount).Eq(refundWei) {
		c.t.Errorf("the ledger says %+v, want %s wei for %s", r, refundWei, c.sent.Hash())
	}
	var totals struct{ Pending, Received *hexutil.U256 }
	if err := c.bundles.Call(&totals, "flashbots_getFeeRefundTotalsByRecipient", c.address()); err != nil {
		c.t.Fatal(err)
	}
	if !(*uint256.Int)(totals.Received).Eq(refundWei) || !(*uint256.Int)(totals.Pending).IsZero() {
		c.t.Errorf("in all %s wei are received and %s pending, want %s", totals.Received, totals.Pending, refundWei)
	}
}

func part(amount *uint256.Int, percent uint64) *uint256.Int {
	p := new(uint256.Int).Mul(amount, uint256.NewInt(percent))
	return p.Div(p, uint256.NewInt(100))
}

// With everybody at work, what the ledger says of each block is what the chain has: each refund
// that was received is a transfer of the fee recipient, of that amount, after a backrun, and there
// is no other payout. What a user cancels when a builder has bid with it already may be in a block
// all the same, with its refund; for the service it stays cancelled.
func TestTheLedgerSaysWhatTheChainSays(t *testing.T) {
	cfg := testConfig(10)
	cfg.Searchers, cfg.OrdersPerSlot = 2, 4
	out := new(watched)
	paid := 0
	out.onSlot = func(s display.Slot) {
		if s.Number == 10 {
			c := newCustomer(t, out.run)
			for number := uint64(1); number <= 8; number++ { // what was settled by now
				paid += c.wantSame(number)
			}
		}
	}
	sum, err := Run(t.Context(), cfg, nil, out) // a busy machine may lose a slot; what is on the chain counts
	if err != nil {
		t.Fatalf("%v, %s, %s", err, sum.Verdict(), out.notes)
	}
	if f := sum.Flow; paid == 0 || f.Cancelled == 0 || f.Hints == 0 || f.Landed == 0 || f.Refunds < paid ||
		f.Landed > f.Backruns {
		t.Errorf("%d payouts are compared; the viewer is told of %+v", paid, f)
	}
}

// payout is a transfer to somebody.
type payout struct {
	to     common.Address
	amount string
}

// wantSame compares a block with the ledger, and answers how many payouts it has.
func (c *customer) wantSame(number uint64) int {
	c.t.Helper()
	block, _ := c.block(number)
	txs := block.Transactions()
	onChain := map[payout][]common.Hash{} // what the payouts are for
	count := 0
	for i, tx := range txs[:len(txs)-1] { // the last one pays the proposer
		from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(network.ChainID)), tx)
		if err != nil {
			c.t.Fatal(err)
		}
		if from != block.Coinbase() {
			continue
		}
		before := i - 1
		for ; before > 0 && *txs[before].To() != chain.BackrunAt; before-- { // several payouts may follow a backrun
			if sender, err := types.Sender(types.LatestSignerForChainID(big.NewInt(network.ChainID)), txs[before]); err != nil ||
				sender != from {
				c.t.Errorf("block %d: payout %d follows no backrun", number, i)
			}
		}
		p := payout{*tx.To(), tx.Value().String()}
		onChain[p] = append(onChain[p], txs[before-1].Hash())
		count++
	}
	for _, r := range c.ledger("flashbots_getFeeRefundsByBlock", map[string]any{"block_number": hexutil.Uint64(number)}) {
		p := payout{r.Recipient, (*uint256.Int)(r.Amount).Dec()}
		if r.Status != "received" || len(onChain[p]) == 0 {
			c.t.Errorf("block %d: the ledger has %s wei %s for %s, the chain does not", number, p.amount, r.Status, p.to)
			continue
		}
		onChain[p] = onChain[p][1:]
	}
	for p, targets := range onChain {
		for _, target := range targets {
			if state := c.stateOf(target); state != "cancelled" {
				c.t.Errorf("block %d: the chain has %s wei for %s, the ledger does not: %s is %s", number, p.amount, p.to,
					target, state)
			}
		}
	}
	return count
}

// stateOf is what the service says to the devnet's users of one of their orders.
func (c *customer) stateOf(order common.Hash) string {
	c.t.Helper()
	users, err := Dial(context.Background(), c.bundleURL, network.Wallet(testConfig(0).Seed, "user signer", 0))
	if err != nil {
		c.t.Fatal(err)
	}
	var status struct{ State string }
	if err := users.Call(&status, "gavel_getOrderStatus", order); err != nil {
		c.t.Errorf("ask for %s: %v", order, err)
	}
	return status.State
}
