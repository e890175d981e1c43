package user

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

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
	signer types.Signer
	next   int // the index of the next wallet
	sent   int
	under  map[common.Address]underWay
}

// NewPrivate returns users that send nothing until Run.
func NewPrivate(cfg PrivateConfig) *Private {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Private{
		PrivateConfig: cfg, under: map[common.Address]underWay{},
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
	for turn := range p.PerSlot {
		hash, regrets, err := p.send(ctx, slot, turn, uint64(head))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if hash == (common.Hash{}) {
			break // all wallets have pending transactions
		}
		p.sent++
		if regrets {
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

// send sends a transaction of the next user without a pending one. regrets says that it is to be
// cancelled. The hash is zero if there is no such user.
func (p *Private) send(ctx context.Context, slot phase0.Slot, turn int,
	head uint64) (hash common.Hash, regrets bool, err error) {
	from, nonce, err := p.idle(ctx, head)
	if err != nil || from == nil {
		return hash, false, err
	}
	self := crypto.PubkeyToAddress(from.PublicKey)
	d := privacy{
		seed: p.Seed, cancelEvery: p.CancelEvery, builders: p.Builders,
		friend: crypto.PubkeyToAddress(p.Wallets[0].PublicKey),
	}.decide(moment{slot: uint64(slot), next: p.Spec.ForkAt(slot + 1), turn: turn, sent: p.sent, self: self})
	d.tx.ChainID, d.tx.Nonce = p.signer.ChainID(), nonce
	tx, err := types.SignNewTx(from, p.signer, d.tx)
	if err != nil {
		return hash, false, fmt.Errorf("sign a private transaction: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return hash, false, fmt.Errorf("encode a private transaction: %w", err)
	}
	request := map[string]any{"tx": hexutil.Bytes(raw)}
	if d.wishes != nil {
		request["preferences"] = d.wishes
	}
	if err := p.OrderFlow.CallContext(ctx, &hash, "eth_sendPrivateTransaction", request); err != nil {
		return common.Hash{}, false, fmt.Errorf("eth_sendPrivateTransaction: %w", err)
	}
	p.under[self] = underWay{nonce: nonce, lastBlock: head + triedFor}
	return hash, d.regrets, nil
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
		if one, ok := p.under[address]; !ok || one.over(uint64(nonce), head) {
			return wallet, uint64(nonce), nil
		}
	}
	return nil, 0, nil
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
