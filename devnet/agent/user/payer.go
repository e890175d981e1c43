package user

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"log/slog"
	"math/big"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// PayerConfig says who pays to whom.
type PayerConfig struct {
	Name string
	// Service is the bundle RPC's name.
	Service string
	Wallet  *ecdsa.PrivateKey
	ChainID uint64
	Spec    *eth.Spec
	Clock   clock.Clock
	// Node is an execution node's JSON-RPC. OrderFlow is the bundle RPC; its client must sign
	// requests.
	Node, OrderFlow *rpc.Client
	// Recipient is the account whose refunds are paid. It receives nothing else, so that its
	// balance can be compared with the bundle RPC's numbers.
	Recipient common.Address
	// Tell receives what is owed, what was received and whether the numbers are right, from one
	// goroutine.
	Tell func(devnet.Event)
	Log  *slog.Logger
}

// Payer pays, once a slot and from a wallet of its own, the refunds that a block's builder does not
// pay, and checks the bundle RPC's numbers. It knows what the bundle RPC tells everybody, and what
// is on the chain.
//
//	bundle RPC ◀─buildernet_getDelayedRefunds─ list: what is owed? ──▶ a plain transfer of exactly that, once ──▶ everybody's pool
//	           ◀─…RefundTotalsByRecipient───── books: the totals are the list's sums, and what was received is what the recipient has
//	chain      ◀─eth_getBalance────────────────┘
type Payer struct {
	PayerConfig
	signer types.Signer
	nonce  uint64
	// known has the refunds that were listed, with their stages.
	known map[refundName]stage
}

// refundName identifies a refund.
type refundName struct {
	bundle common.Hash
	block  hexutil.Uint64
}

// stage is how far a refund has come. The payer reports a refund when it is first listed and when
// it is received, and pays it in between.
type stage int

const (
	owed stage = iota + 1
	paid
	received
)

// step is what a payer does about a refund in its list.
type step struct {
	reports []string // subjects, in order
	pays    bool
	becomes stage
}

// decide is pure. A refund of a stage, 0 if it was not listed before, has a status now. It is never
// paid a second time, whatever happened to the first transaction.
func (s stage) decide(status string) step {
	d := step{becomes: s}
	if s == 0 {
		d.reports, d.becomes = append(d.reports, devnet.RefundListed), owed
	}
	switch {
	case status == "received" && s != received:
		d.reports, d.becomes = append(d.reports, devnet.RefundReceived), received
	case status == "pending" && d.becomes == owed:
		d.pays, d.becomes = true, paid
	}
	return d
}

// NewPayer returns a payer that does nothing until Run.
func NewPayer(cfg PayerConfig) *Payer {
	return &Payer{PayerConfig: cfg, signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)),
		known: map[refundName]stage{}}
}

// Run pays in each slot what is owed then, until the context ends, and then returns nil. Refusals
// of a service are logged and do not end it.
func (p *Payer) Run(ctx context.Context) error {
	for slot := p.Spec.SlotAt(p.Clock.Now()); ; slot = max(slot+1, p.Spec.SlotAt(p.Clock.Now())) {
		if p.Clock.Until(ctx, p.Spec.SlotStart(slot).Add(p.Spec.SlotDuration/4)) != nil {
			return nil
		}
		if err := p.slot(ctx, slot); err != nil && ctx.Err() == nil {
			p.Log.Warn("pay refunds", "payer", p.Name, "slot", slot, "error", err)
		}
	}
}

// slot checks the numbers as of the newest block, and pays what is owed.
func (p *Payer) slot(ctx context.Context, slot phase0.Slot) error {
	list, head, err := p.indexed(ctx, p.Spec.SlotStart(slot+1))
	if err != nil {
		return err
	}
	if err := p.balance(ctx, list, head); err != nil {
		return err
	}
	for _, one := range list.Refunds {
		if err := p.pay(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// pay does what the payer decides about a refund.
func (p *Payer) pay(ctx context.Context, one refund) error {
	name, amountWei := refundName{one.Hash, one.BlockNumber}, (*uint256.Int)(one.Amount)
	d := p.known[name].decide(one.Status)
	p.known[name] = d.becomes
	for _, subject := range d.reports {
		p.Tell(devnet.Event{Actor: p.Name, Subject: subject, At: p.Service, ValueWei: amountWei.Dec()})
	}
	if !d.pays {
		return nil
	}
	return p.transfer(ctx, amountWei)
}

// transfer sends a plain transfer, with a tip that is high enough for the next block.
func (p *Payer) transfer(ctx context.Context, amountWei *uint256.Int) error {
	var nonce hexutil.Uint64
	if err := p.Node.CallContext(ctx, &nonce, "eth_getTransactionCount", crypto.PubkeyToAddress(p.Wallet.PublicKey),
		"latest"); err != nil {
		return fmt.Errorf("read the nonce: %w", err)
	}
	p.nonce = max(p.nonce, uint64(nonce))
	tx, err := types.SignNewTx(p.Wallet, p.signer, &types.DynamicFeeTx{
		ChainID: p.signer.ChainID(), Nonce: p.nonce, GasTipCap: big.NewInt(50 * params.GWei),
		GasFeeCap: big.NewInt(1000 * params.GWei),
		Gas:       chain.TransferGas(p.Spec.ForkAt(p.Spec.SlotAt(p.Clock.Now()) + 1)),
		To:        &p.Recipient, Value: amountWei.ToBig(),
	})
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := p.Node.CallContext(ctx, nil, "eth_sendRawTransaction", hexutil.Bytes(raw)); err != nil {
		return fmt.Errorf("eth_sendRawTransaction: %w", err)
	}
	p.nonce++
	return nil
}
