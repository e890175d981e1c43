package user

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Strategy is what a trader sends in each slot, and with which preferences. The zero value sends a
// swap to the bundle RPC only.
type Strategy struct {
	Sends Sends
	// Fast wants its transactions sent to all builders at once. Hide lets searchers see nothing.
	// Exclusive names the one builder that may have its transactions, besides the operator's own.
	Fast, Hide bool
	Exclusive  string
	// SplitPercent is the share of its refunds that goes to a friend.
	SplitPercent int
	// CancelAfter cancels each transaction after this time; 0 never does.
	CancelAfter time.Duration
	// Chatter is how many more transactions it sends in a slot only for searchers to see. They pay
	// builders nothing.
	Chatter int
}

// Sends is the kind of orders that a trader sends.
type Sends int

// SendPrivate sends swaps to the bundle RPC, SendPublic to the public pool; the next swap is sent
// when the one before has landed. SendConflict sends two bundles a slot of which only one can land.
// SendDelayed sends a bundle a slot whose refund is paid outside of the block.
const (
	SendPrivate Sends = iota
	SendPublic
	SendConflict
	SendDelayed
)

// situation is what a trader sees in a slot.
type situation struct {
	first bool // it looks at this slot for the first time
	// nonce is the wallet's next one after the newest block; sentNonce is that of the last
	// transaction, if underWay.
	nonce, sentNonce uint64
	underWay         bool
}

// decision is what a trader does: it sends its order, or waits because one is pending; and it sends
// chatter.
type decision struct {
	waits   bool
	chatter int
}

// decide is pure. A swap waits for the wallet's swap before it; bundles do not wait.
func (s Strategy) decide(at situation) decision {
	d := decision{waits: at.underWay && at.nonce <= at.sentNonce && (s.Sends == SendPrivate || s.Sends == SendPublic)}
	if at.first {
		d.chatter = s.Chatter
	}
	return d
}

// TraderConfig says who the trader is.
type TraderConfig struct {
	Name    string
	Wallet  *ecdsa.PrivateKey
	ChainID uint64
	Spec    *eth.Spec
	Clock   clock.Clock
	// Node is an execution node's JSON-RPC. OrderFlow is the bundle RPC; its client must sign
	// requests.
	Node, OrderFlow *rpc.Client
	// Friend is the account with which a user splits its refund.
	Friend   common.Address
	Strategy Strategy
	Log      *slog.Logger
}

// Trader is a user of the bundle RPC with one wallet and a strategy, or a searcher that sends
// bundles of its own. It sends signed JSON-RPC requests, as outsiders do. It is for one goroutine.
//
//	user ──swap──▶ eth_sendPrivateTransaction, with preferences ──▶ bundle RPC ◀──two bundles, one nonce: eth_sendBundle── searcher
//	     ──cancels it──▶ eth_cancelPrivateTransaction
type Trader struct {
	TraderConfig
	signer types.Signer
	sent   bool // an order with this nonce was sent
	nonce  uint64
}

// NewTrader returns a trader that sends nothing until Run.
func NewTrader(cfg TraderConfig) *Trader {
	return &Trader{TraderConfig: cfg, signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID))}
}

// Run sends in each slot until the context ends, and then returns nil. Refusals of a service are
// logged and do not end it.
func (t *Trader) Run(ctx context.Context) error {
	for slot := t.Spec.SlotAt(t.Clock.Now()); ; slot = max(slot+1, t.Spec.SlotAt(t.Clock.Now())) {
		for look, eighth := range eighths {
			if t.Clock.Until(ctx, t.Spec.SlotStart(slot).Add(eighth*t.Spec.SlotDuration/8)) != nil {
				return nil
			}
			waits, err := t.slot(ctx, slot, look == 0)
			if err != nil && ctx.Err() == nil {
				t.Log.Warn("trade", "trader", t.Name, "slot", slot, "error", err)
			}
			if !waits {
				break
			}
		}
	}
}

// eighths of a slot at which a trader checks whether its last transaction has landed. It checks
// several times, because a slot's block may be late.
var eighths = []time.Duration{1, 2, 3, 4}

// slot does what the strategy decides at one check in a slot. waits asks for another check.
func (t *Trader) slot(ctx context.Context, slot phase0.Slot, first bool) (waits bool, err error) {
	var nonce hexutil.Uint64
	address := crypto.PubkeyToAddress(t.Wallet.PublicKey)
	if err := t.Node.CallContext(ctx, &nonce, "eth_getTransactionCount", address, "latest"); err != nil {
		return false, fmt.Errorf("read the nonce: %w", err)
	}
	d := t.Strategy.decide(situation{first: first, nonce: uint64(nonce), sentNonce: t.nonce, underWay: t.sent})
	if !d.waits {
		err = t.trade(ctx, slot, uint64(nonce))
	}
	if err == nil {
		err = t.chatter(ctx, slot, uint64(nonce), d.chatter)
	}
	return d.waits, err
}

// trade sends one order.
func (t *Trader) trade(ctx context.Context, slot phase0.Slot, nonce uint64) error {
	t.sent, t.nonce = true, nonce
	switch t.Strategy.Sends {
	case SendConflict:
		return t.conflict(ctx, slot)
	case SendDelayed:
		return t.bundle(ctx, slot, 0, map[string]any{"refundPercent": 50, "refundRecipient": t.Friend, "delayedRefund": true})
	case SendPrivate, SendPublic:
	}
	hash, err := t.swap(ctx, slot)
	if err != nil {
		t.sent = false // it was not accepted, so the next slot tries again
		return err
	}
	if after := t.Strategy.CancelAfter; after > 0 && t.Clock.Until(ctx, t.Clock.Now().Add(after)) == nil {
		t.sent = false
		return t.cancel(ctx, hash)
	}
	return nil
}

// swapEther is how much a user swaps: enough that the price gap to the other pool is worth a
// backrun.
const swapEther = 30

// swap buys tokens in the first pool, for one wei more in each slot, so that a cancelled
// transaction is not sent again.
func (t *Trader) swap(ctx context.Context, slot phase0.Slot) (common.Hash, error) {
	tx, err := types.SignNewTx(t.Wallet, t.signer, &types.DynamicFeeTx{
		ChainID: t.signer.ChainID(), Nonce: t.nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(200 * params.GWei),
		Gas:       chain.CallGas(t.Spec.ForkAt(t.Spec.SlotAt(t.Clock.Now())+1), chain.SwapGas),
		To:        &chain.RouterAt, Value: new(big.Int).Add(new(big.Int).Mul(big.NewInt(swapEther), big.NewInt(params.Ether)),
			new(big.Int).SetUint64(uint64(slot))),
		Data: chain.BuyCall(chain.PoolA, new(uint256.Int)),
	})
	if err != nil {
		return common.Hash{}, fmt.Errorf("sign: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return common.Hash{}, fmt.Errorf("encode: %w", err)
	}
	if t.Strategy.Sends == SendPublic {
		if err := t.Node.CallContext(ctx, nil, "eth_sendRawTransaction", hexutil.Bytes(raw)); err != nil {
			return common.Hash{}, fmt.Errorf("eth_sendRawTransaction: %w", err)
		}
		return tx.Hash(), nil
	}
	request := map[string]any{"tx": hexutil.Bytes(raw)}
	if wishes := t.wishes(); len(wishes) > 0 {
		request["preferences"] = wishes
	}
	if err := t.OrderFlow.CallContext(ctx, nil, "eth_sendPrivateTransaction", request); err != nil {
		return common.Hash{}, fmt.Errorf("eth_sendPrivateTransaction: %w", err)
	}
	return tx.Hash(), nil
}

// usualRefund is the percentage of a backrun's value that a user gets back if it states no other.
const usualRefund = 90

// wishes returns the preferences of a private transaction. A split divides the usual refund, and
// shows searchers the logs, unless the trader hides its transactions.
func (t *Trader) wishes() map[string]any {
	s, wishes, privacy := t.Strategy, map[string]any{}, map[string]any{}
	if s.Fast {
		wishes["fast"] = true
	}
	switch {
	case s.Hide || s.Exclusive != "":
		privacy["hints"] = []string{}
	case s.SplitPercent > 0:
		privacy["hints"] = []string{"logs"}
	}
	if s.Exclusive != "" {
		privacy["builders"] = []string{s.Exclusive}
	}
	if len(privacy) > 0 {
		wishes["privacy"] = privacy
	}
	if s.SplitPercent > 0 {
		friends := usualRefund * s.SplitPercent / 100
		wishes["validity"] = map[string]any{"refund": []map[string]any{
			{"address": crypto.PubkeyToAddress(t.Wallet.PublicKey), "percent": usualRefund - friends},
			{"address": t.Friend, "percent": friends},
		}}
	}
	return wishes
}

// cancel cancels a transaction. It is not an error if that is too late.
func (t *Trader) cancel(ctx context.Context, hash common.Hash) error {
	if err := t.OrderFlow.CallContext(ctx, nil, "eth_cancelPrivateTransaction",
		map[string]any{"txHash": hash}); err != nil {
		return fmt.Errorf("eth_cancelPrivateTransaction: %w", err)
	}
	return nil
}

// conflict sends two bundles of which only one can land, because both use the same nonce.
func (t *Trader) conflict(ctx context.Context, slot phase0.Slot) error {
	for i := range int64(2) {
		if err := t.bundle(ctx, slot, i, nil); err != nil {
			return err
		}
	}
	return nil
}

// bundle sends a bundle of one transfer, which pays for its inclusion by its tip. The amount
// differs in each slot. more are further fields of the request.
func (t *Trader) bundle(ctx context.Context, slot phase0.Slot, number int64, more map[string]any) error {
	to := common.Address{0x70, byte(number)}
	tx, err := types.SignNewTx(t.Wallet, t.signer, &types.DynamicFeeTx{
		ChainID: t.signer.ChainID(), Nonce: t.nonce, GasTipCap: big.NewInt((2 + number) * 100 * params.GWei),
		GasFeeCap: big.NewInt(1000 * params.GWei),
		Gas:       chain.TransferGas(t.Spec.ForkAt(slot + 1)), To: &to, Value: new(big.Int).SetUint64(uint64(slot) + 1),
	})
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	request := map[string]any{"txs": []hexutil.Bytes{raw}}
	for key, value := range more {
		request[key] = value
	}
	if err := t.OrderFlow.CallContext(ctx, nil, "eth_sendBundle", request); err != nil {
		return fmt.Errorf("eth_sendBundle: %w", err)
	}
	return nil
}

// chatterBytes is how much data each transaction of chatter has.
const chatterBytes = 8 << 10

// chatter sends different transactions whose whole data searchers see. They pay builders nothing,
// so the RPC does not send them to builders. All have the same nonce, so they end when the next
// trade of the wallet lands.
func (t *Trader) chatter(ctx context.Context, slot phase0.Slot, nonce uint64, count int) error {
	for i := range count {
		tx, err := types.SignNewTx(t.Wallet, t.signer, &types.DynamicFeeTx{
			ChainID: t.signer.ChainID(), Nonce: nonce, GasTipCap: new(big.Int), GasFeeCap: big.NewInt(200 * params.GWei),
			Gas: chatterGas,
			To:  &common.Address{0x70}, Value: new(big.Int), Data: bytes.Repeat(fmt.Appendf(nil, "%8d%8d", slot, i),
				chatterBytes/16),
		})
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		request := map[string]any{"tx": hexutil.Bytes(raw),
			"preferences": map[string]any{"privacy": map[string]any{"hints": []string{"calldata"}}}}
		if err := t.OrderFlow.CallContext(ctx, nil, "eth_sendPrivateTransaction", request); err != nil {
			return fmt.Errorf("eth_sendPrivateTransaction: %w", err)
		}
	}
	return nil
}

// chatterGas is enough for the data at the highest price of a byte, and for a call of an account
// without code.
const chatterGas = params.TxGas + 40*chatterBytes
