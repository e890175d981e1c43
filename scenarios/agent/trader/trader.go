// Package trader is a user of the bundle RPC with a strategy of a plan, and a searcher who sends
// bundles of its own. Both speak signed JSON-RPC, as anybody outside does.
//
//	user ──swap──▶ eth_sendPrivateTransaction, with its wishes ──▶ bundle RPC ◀──two bundles, one nonce: eth_sendBundle── searcher
//	     ──takes it back──▶ eth_cancelPrivateTransaction
package trader

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

	"github.com/gavel-relay/gavel/devnet/contract"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/scenarios/plan"
)

// Config says who the trader is.
type Config struct {
	Name    string
	Wallet  *ecdsa.PrivateKey
	ChainID uint64
	Spec    *eth.Spec
	Clock   clock.Clock
	// Node is an execution node's JSON-RPC, OrderFlow the bundle RPC, which wants signed requests.
	Node, OrderFlow *rpc.Client
	// Friend is who a user splits its refund with.
	Friend   common.Address
	Strategy []plan.Move
	Log      *slog.Logger
}

// Trader sends once a slot.
type Trader struct {
	Config
	signer types.Signer
	sent   bool // something is under way, with nonce
	nonce  uint64
}

// New returns a trader that sends nothing until Run.
func New(cfg Config) *Trader {
	return &Trader{Config: cfg, signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID))}
}

func (t *Trader) move(word string) (plan.Move, bool) {
	for _, m := range t.Strategy {
		if m.Is(word) {
			return m, true
		}
	}
	return plan.Move{}, false
}

// Run sends in each slot until the context ends, and returns nil then. A service that refuses is no
// reason to end.
func (t *Trader) Run(ctx context.Context) error {
	if _, offline := t.move("offline"); offline {
		<-ctx.Done()
		return nil
	}
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

// eighths of a slot at which a trader looks whether what it sent has landed: the block of a slot
// may be late.
var eighths = []time.Duration{1, 2, 3, 4}

// slot sends one thing, or says that it waits since something is under way still. It chatters at
// the first look at a slot.
func (t *Trader) slot(ctx context.Context, slot phase0.Slot, first bool) (waits bool, err error) {
	var nonce hexutil.Uint64
	address := crypto.PubkeyToAddress(t.Wallet.PublicKey)
	if err := t.Node.CallContext(ctx, &nonce, "eth_getTransactionCount", address, "latest"); err != nil {
		return false, fmt.Errorf("read the nonce: %w", err)
	}
	if waits = t.waits(uint64(nonce)); !waits {
		err = t.trade(ctx, slot, uint64(nonce))
	}
	if m, chatters := t.move("chatter"); chatters && first && err == nil {
		err = t.chatter(ctx, slot, uint64(nonce), m.Count)
	}
	return waits, err
}

// waits says whether something is under way, for those who send one thing after the other. The
// nonce is that of the newest block.
func (t *Trader) waits(nonce uint64) bool {
	_, conflicts := t.move("conflict")
	_, delays := t.move("delay")
	return t.sent && nonce <= t.nonce && !conflicts && !delays
}

// trade sends one thing.
func (t *Trader) trade(ctx context.Context, slot phase0.Slot, nonce uint64) error {
	_, conflicts := t.move("conflict")
	_, delays := t.move("delay")
	t.sent, t.nonce = true, nonce
	switch {
	case conflicts:
		return t.conflict(ctx, slot)
	case delays:
		return t.bundle(ctx, slot, 0, map[string]any{"refundPercent": 50, "refundRecipient": t.Friend, "delayedRefund": true})
	}
	hash, err := t.swap(ctx, slot)
	if err != nil {
		t.sent = false // nobody has it: the next slot tries again
		return err
	}
	if m, ok := t.move("cancel"); ok && t.Clock.Until(ctx, t.Clock.Now().Add(m.Time)) == nil {
		t.sent = false
		return t.cancel(ctx, hash)
	}
	return nil
}

// swapEther is how much a user swaps: enough that the gap to the other pool is worth a backrun.
const swapEther = 30

// swap buys tokens in the first pool, for a little more in each slot: what was taken back is not
// sent again.
func (t *Trader) swap(ctx context.Context, slot phase0.Slot) (common.Hash, error) {
	tx, err := types.SignNewTx(t.Wallet, t.signer, &types.DynamicFeeTx{
		ChainID: t.signer.ChainID(), Nonce: t.nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(200 * params.GWei), Gas: contract.SwapGas,
		To: &contract.RouterAt, Value: new(big.Int).Add(new(big.Int).Mul(big.NewInt(swapEther), big.NewInt(params.Ether)),
			new(big.Int).SetUint64(uint64(slot))),
		Data: contract.BuyCall(contract.PoolA, new(uint256.Int)),
	})
	if err != nil {
		return common.Hash{}, fmt.Errorf("sign: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return common.Hash{}, fmt.Errorf("encode: %w", err)
	}
	if _, public := t.move("public"); public {
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

// usualRefund is the percentage of a backrun's value that comes back to who does not say how much.
const usualRefund = 90

// wishes are the preferences of a private transaction. A split is of what comes back usually.
func (t *Trader) wishes() map[string]any {
	wishes, privacy := map[string]any{}, map[string]any{}
	if _, ok := t.move("fast"); ok {
		wishes["fast"] = true
	}
	if _, ok := t.move("hide"); ok {
		privacy["hints"] = []string{}
	}
	if m, ok := t.move("exclusive"); ok {
		privacy["hints"], privacy["builders"] = []string{}, []string{m.Name}
	}
	if len(privacy) > 0 {
		wishes["privacy"] = privacy
	}
	if m, ok := t.move("split"); ok {
		wishes["privacy"] = map[string]any{"hints": []string{"logs"}}
		friends := usualRefund * int(m.Percent) / 100
		wishes["validity"] = map[string]any{"refund": []map[string]any{
			{"address": crypto.PubkeyToAddress(t.Wallet.PublicKey), "percent": usualRefund - friends}, {"address": t.Friend,
				"percent": friends},
		}}
	}
	return wishes
}

// cancel takes a transaction back. That it cannot be taken back any more is no error.
func (t *Trader) cancel(ctx context.Context, hash common.Hash) error {
	if err := t.OrderFlow.CallContext(ctx, nil, "eth_cancelPrivateTransaction",
		map[string]any{"txHash": hash}); err != nil {
		return fmt.Errorf("eth_cancelPrivateTransaction: %w", err)
	}
	return nil
}

// conflict sends two bundles of which only one can land, since both use the same nonce.
func (t *Trader) conflict(ctx context.Context, slot phase0.Slot) error {
	for i := range int64(2) {
		if err := t.bundle(ctx, slot, i, nil); err != nil {
			return err
		}
	}
	return nil
}

// bundle sends a bundle of one transfer, of another amount in each slot, which pays its block by
// its tip; more are further fields of the request.
func (t *Trader) bundle(ctx context.Context, slot phase0.Slot, number int64, more map[string]any) error {
	to := common.Address{0x70, byte(number)}
	tx, err := types.SignNewTx(t.Wallet, t.signer, &types.DynamicFeeTx{
		ChainID: t.signer.ChainID(), Nonce: t.nonce, GasTipCap: big.NewInt((2 + number) * 100 * params.GWei),
		GasFeeCap: big.NewInt(1000 * params.GWei),
		Gas:       params.TxGas, To: &to, Value: new(big.Int).SetUint64(uint64(slot) + 1),
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

// chatterBytes is how much data each transaction has that is sent for searchers only.
const chatterBytes = 8 << 10

// chatter sends many transactions that searchers see whole, each another one. They pay builders
// nothing, so that these are not sent them, and share a nonce: they are over when the next trade of
// the wallet lands.
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

// chatterGas is enough for the data at the highest price of a byte, and a call of nobody.
const chatterGas = params.TxGas + 40*chatterBytes
