package user

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"

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
)

// PrivateConfig says who sends privately, and how often.
type PrivateConfig struct {
	// Wallets have ether, and tokens that the router may sell. Each has at most one pending
	// transaction.
	Wallets []*ecdsa.PrivateKey
	ChainID uint64
	// PerSlot is how many transactions are sent in each slot. One in CancelEvery of them is
	// cancelled later in the slot; 0 cancels none.
	PerSlot, CancelEvery int
	// Builders are the names of builders that some users prefer.
	Builders []string
	Spec     *eth.Spec
	Clock    clock.Clock
	// Node is the execution node's JSON-RPC. OrderFlow is the bundle RPC; its client must sign
	// requests.
	Node, OrderFlow *rpc.Client
	Seed            uint64
	Log             *slog.Logger
}

// Private is a group of users that do not want the public pool to see their transactions. They swap
// and transfer by eth_sendPrivateTransaction, with different preferences. All sending happens in
// the goroutine of Run.
type Private struct {
	PrivateConfig
	random *rand.Rand
	signer types.Signer
	next   int // the index of the next wallet
	sent   int
	under  map[common.Address]underWay
}

// underWay is a pending transaction.
type underWay struct {
	nonce, lastBlock uint64
}

// NewPrivate returns users that send nothing until Run.
func NewPrivate(cfg PrivateConfig) *Private {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Private{
		PrivateConfig: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 0x70726976)), under: map[common.Address]underWay{},
		signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)),
	}
}

// Run sends in each slot until the context ends, and then returns nil. Refusals of a service are
// logged and do not end it.
func (p *Private) Run(ctx context.Context) error {
	for slot := p.Spec.SlotAt(p.Clock.Now()); ; slot = max(slot+1, p.Spec.SlotAt(p.Clock.Now())) {
		if p.Clock.Until(ctx, p.Spec.SlotStart(slot).Add(p.Spec.SlotDuration/8)) != nil {
			return nil
		}
		if err := p.slot(ctx, slot); err != nil && ctx.Err() == nil {
			p.Log.Warn("send private transactions", "slot", slot, "error", err)
		}
	}
}

// slot sends one slot's transactions, and cancels some of them.
func (p *Private) slot(ctx context.Context, slot phase0.Slot) error {
	var head hexutil.Uint64
	if err := p.Node.CallContext(ctx, &head, "eth_blockNumber"); err != nil {
		return fmt.Errorf("read the head: %w", err)
	}
	var regretted []common.Hash
	var errs []error
	for range p.PerSlot {
		hash, err := p.send(ctx, uint64(head))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if hash == (common.Hash{}) {
			break // all wallets have pending transactions
		}
		p.sent++
		if p.CancelEvery > 0 && p.sent%p.CancelEvery == 0 {
			regretted = append(regretted, hash)
		}
	}
	if len(regretted) > 0 && p.Clock.Until(ctx, p.Spec.SlotStart(slot).Add(p.Spec.SlotDuration/4)) == nil {
		for _, hash := range regretted {
			errs = append(errs, p.cancel(ctx, hash))
		}
	}
	return errors.Join(errs...)
}

// triedFor is for how many blocks the service tries to include a private transaction.
const triedFor = 25

// send sends a transaction of the next user without a pending one. The hash is zero if there is no
// such user.
func (p *Private) send(ctx context.Context, head uint64) (common.Hash, error) {
	from, nonce, err := p.idle(ctx, head)
	if err != nil || from == nil {
		return common.Hash{}, err
	}
	tx, err := types.SignNewTx(from, p.signer, p.wanted(nonce))
	if err != nil {
		return common.Hash{}, fmt.Errorf("sign a private transaction: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return common.Hash{}, fmt.Errorf("encode a private transaction: %w", err)
	}
	request := map[string]any{"tx": hexutil.Bytes(raw)}
	if wishes := p.wishes(crypto.PubkeyToAddress(from.PublicKey)); wishes != nil {
		request["preferences"] = wishes
	}
	var hash common.Hash
	if err := p.OrderFlow.CallContext(ctx, &hash, "eth_sendPrivateTransaction", request); err != nil {
		return common.Hash{}, fmt.Errorf("eth_sendPrivateTransaction: %w", err)
	}
	p.under[crypto.PubkeyToAddress(from.PublicKey)] = underWay{nonce: nonce, lastBlock: head + triedFor}
	return hash, nil
}

// idle returns the next wallet without a pending transaction, and its nonce.
func (p *Private) idle(ctx context.Context, head uint64) (*ecdsa.PrivateKey, uint64, error) {
	for range p.Wallets {
		wallet := p.Wallets[p.next%len(p.Wallets)]
		p.next++
		address := crypto.PubkeyToAddress(wallet.PublicKey)
		var nonce hexutil.Uint64
		if err := p.Node.CallContext(ctx, &nonce, "eth_getTransactionCount", address, "latest"); err != nil {
			return nil, 0, fmt.Errorf("read the nonce of %s: %w", address, err)
		}
		if waits, ok := p.under[address]; !ok || uint64(nonce) > waits.nonce || head > waits.lastBlock {
			return wallet, uint64(nonce), nil
		}
	}
	return nil, 0, nil
}

// wanted returns a swap in one of the pools, of 5 to 40 ether or as many tokens as these are worth,
// or sometimes a transfer.
func (p *Private) wanted(nonce uint64) *types.DynamicFeeTx {
	tx := &types.DynamicFeeTx{
		ChainID: p.signer.ChainID(), Nonce: nonce, GasTipCap: big.NewInt((1 + p.random.Int64N(30)) * params.GWei / 10),
		GasFeeCap: big.NewInt(200 * params.GWei), Gas: contract.SwapGas, To: &contract.RouterAt, Value: new(big.Int),
	}
	pool, amount := contract.Pools[p.random.IntN(2)], new(uint256.Int).Mul(uint256.NewInt(5+p.random.Uint64N(36)),
		uint256.NewInt(params.Ether))
	switch p.random.IntN(5) {
	case 0:
		tx.Gas, tx.To, tx.Value = params.TxGas, &common.Address{0x70, byte(p.random.Uint32())},
			big.NewInt(1+p.random.Int64N(params.GWei))
	case 1, 2:
		tx.Value, tx.Data = amount.ToBig(), contract.BuyCall(pool, new(uint256.Int))
	default:
		tokens := amount.Mul(amount, openingPrice)
		tx.Data = contract.SellCall(pool, tokens, new(uint256.Int))
	}
	return tx
}

// openingPrice is how many tokens an ether buys at genesis.
var openingPrice = new(uint256.Int).Div(contract.OpeningTokens, contract.OpeningEtherWei)

// wishes returns preferences for a transaction: what searchers may see, who gets the refund, which
// builders may have it. nil leaves all to the service.
func (p *Private) wishes(self common.Address) map[string]any {
	sharing := func(hints ...string) map[string]any { return map[string]any{"hints": append([]string{}, hints...)} }
	switch p.random.IntN(9) {
	case 0:
		return map[string]any{"privacy": sharing("hash", "logs")}
	case 1:
		return map[string]any{"privacy": sharing("contract_address", "function_selector", "calldata", "logs")}
	case 2:
		return map[string]any{"privacy": sharing("full", "tx_hash", "default_logs")}
	case 3:
		return map[string]any{"privacy": sharing("hash")}
	case 4:
		return map[string]any{"fast": true}
	case 5:
		privacy := sharing("default_logs")
		privacy["builders"] = p.Builders
		return map[string]any{"privacy": privacy}
	case 6:
		friend := crypto.PubkeyToAddress(p.Wallets[0].PublicKey)
		// A split of 60 to 40 of the usual 90 %: percentages for addresses are of the whole value.
		return map[string]any{"privacy": sharing("logs"), "validity": map[string]any{"refund": []map[string]any{
			{"address": self, "percent": 54}, {"address": friend, "percent": 36},
		}}}
	case 7:
		return map[string]any{"privacy": sharing()} // searchers see nothing
	}
	return nil
}

// cancel cancels a transaction. It is not an error if that is too late.
func (p *Private) cancel(ctx context.Context, hash common.Hash) error {
	var cancelled bool
	if err := p.OrderFlow.CallContext(ctx, &cancelled, "eth_cancelPrivateTransaction",
		map[string]any{"txHash": hash}); err != nil {
		return fmt.Errorf("eth_cancelPrivateTransaction: %w", err)
	}
	return nil
}
