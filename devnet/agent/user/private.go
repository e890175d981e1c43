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
	nonce := func(wallet common.Address) (uint64, error) { return p.nonce(ctx, wallet) }
	var regretted []common.Hash
	var errs []error
	for turn := range p.PerSlot {
		wish, err := p.Next(slot, turn, uint64(head), nonce)
		if err == nil && wish == nil {
			break // all wallets have pending transactions
		}
		if err == nil {
			err = p.send(ctx, wish)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.MarkSent(wish)
		if wish.Regrets {
			regretted = append(regretted, wish.Hash)
		}
	}
	if len(regretted) > 0 && p.Clock.Until(ctx, p.Spec.SlotStart(slot).Add(p.Spec.SlotDuration/4)) == nil {
		for _, hash := range regretted {
			errs = append(errs, p.cancel(ctx, hash))
		}
	}
	return errors.Join(errs...)
}

// Wish is a transaction that a user wants to send privately.
type Wish struct {
	// Request is the parameter of eth_sendPrivateTransaction.
	Request map[string]any
	Hash    common.Hash
	// Regrets says that it is to be cancelled later in its slot.
	Regrets bool
	// From sends it.
	From common.Address

	under underWay
}

// Next signs what the next user without a pending transaction wants to send in its turn of a slot;
// nil if there is no such user. It asks nonce for the nonce of a wallet after the block head.
func (p *Private) Next(slot phase0.Slot, turn int, head uint64,
	nonce func(common.Address) (uint64, error)) (*Wish, error) {
	from, next, err := p.idle(head, nonce)
	if err != nil || from == nil {
		return nil, err
	}
	self := crypto.PubkeyToAddress(from.PublicKey)
	d := privacy{
		seed: p.Seed, cancelEvery: p.CancelEvery, builders: p.Builders,
		friend: crypto.PubkeyToAddress(p.Wallets[0].PublicKey),
	}.decide(moment{slot: uint64(slot), next: p.Spec.ForkAt(slot + 1), turn: turn, sent: p.sent, self: self})
	d.tx.ChainID, d.tx.Nonce = p.signer.ChainID(), next
	tx, err := types.SignNewTx(from, p.signer, d.tx)
	if err != nil {
		return nil, fmt.Errorf("sign a private transaction: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode a private transaction: %w", err)
	}
	wish := &Wish{
		Request: map[string]any{"tx": hexutil.Bytes(raw)}, Hash: tx.Hash(), Regrets: d.regrets, From: self,
		under: underWay{nonce: next, lastBlock: head + triedFor},
	}
	if d.wishes != nil {
		wish.Request["preferences"] = d.wishes
	}
	return wish, nil
}

// MarkSent notes that the service has taken a transaction, so that its user sends no other one
// until it is over.
func (p *Private) MarkSent(wish *Wish) {
	p.sent++
	p.under[wish.From] = wish.under
}

func (p *Private) send(ctx context.Context, wish *Wish) error {
	var hash common.Hash
	if err := p.OrderFlow.CallContext(ctx, &hash, "eth_sendPrivateTransaction", wish.Request); err != nil {
		return fmt.Errorf("eth_sendPrivateTransaction: %w", err)
	}
	return nil
}

// idle returns the next wallet without a pending transaction, and its nonce.
func (p *Private) idle(head uint64, nonce func(common.Address) (uint64, error)) (*ecdsa.PrivateKey, uint64, error) {
	for range p.Wallets {
		wallet := p.Wallets[p.next%len(p.Wallets)]
		p.next++
		address := crypto.PubkeyToAddress(wallet.PublicKey)
		next, err := nonce(address)
		if err != nil {
			return nil, 0, err
		}
		if one, ok := p.under[address]; !ok || one.over(next, head) {
			return wallet, next, nil
		}
	}
	return nil, 0, nil
}

// nonce returns the nonce of a wallet at the head of the chain.
func (p *Private) nonce(ctx context.Context, wallet common.Address) (uint64, error) {
	var nonce hexutil.Uint64
	if err := p.Node.CallContext(ctx, &nonce, "eth_getTransactionCount", wallet, "latest"); err != nil {
		return 0, fmt.Errorf("read the nonce of %s: %w", wallet, err)
	}
	return uint64(nonce), nil
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
