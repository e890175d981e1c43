package bundle

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// ErrNotConvertible says that a method cannot express an order. A builder that supports only this
// method does not get the order.
var ErrNotConvertible = errors.New("order cannot be converted")

func notConvertible(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNotConvertible, fmt.Sprintf(format, args...))
}

// outgoingBundle is params[0] of an eth_sendBundle to a builder.
type outgoingBundle struct {
	Txs             []hexutil.Bytes `json:"txs"`
	BlockNumber     hexutil.Uint64  `json:"blockNumber"`
	MinTimestamp    uint64          `json:"minTimestamp,omitempty"`
	MaxTimestamp    uint64          `json:"maxTimestamp,omitempty"`
	RevertingHashes []common.Hash   `json:"revertingTxHashes,omitempty"`
	DroppingHashes  []common.Hash   `json:"droppingTxHashes,omitempty"`
	ReplacementUUID uuid.UUID       `json:"replacementUuid,omitzero"`
	RefundPercent   int             `json:"refundPercent,omitempty"`
	RefundRecipient *common.Address `json:"refundRecipient,omitempty"`
	RefundHashes    []common.Hash   `json:"refundTxHashes,omitempty"`
	DelayedRefund   bool            `json:"delayedRefund,omitempty"`
}

// Outgoing is the order for one block as params[0] of eth_sendBundle; the transactions of inner
// bundles are put into one list. replacement is OutgoingReplacement's, or zero for builders that do
// not support replacements. The error is ErrUnmatched, or ErrNotConvertible: eth_sendBundle can
// express only one refund, to one address, of what one transaction pays.
func Outgoing(o *rpc.Order, block uint64, replacement uuid.UUID) (json.RawMessage, error) {
	window := o.Bundle.Window
	if block < window.FirstBlock || block > window.LastBlock {
		return nil, notConvertible("block %d is not in %d to %d", block, window.FirstBlock, window.LastBlock)
	}
	out := outgoingBundle{
		BlockNumber: hexutil.Uint64(block), MinTimestamp: window.MinTimestamp, MaxTimestamp: window.MaxTimestamp,
		ReplacementUUID: replacement,
	}
	txs, err := flatten(nil, &o.Bundle)
	if err != nil {
		return nil, err
	}
	for _, tx := range txs {
		out.Txs = append(out.Txs, tx.Raw)
		if tx.CanRevert {
			out.RevertingHashes = append(out.RevertingHashes, tx.Hash)
		}
		if tx.CanDrop {
			out.DroppingHashes = append(out.DroppingHashes, tx.Hash)
		}
	}
	if err := out.refund(&o.Bundle); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// OutgoingReplacement is the replacementUuid of an order at builders. All signers' orders are
// signed by the service's key there, so the signer is part of it: otherwise two signers' equal
// UUIDs would collide. A private transaction gets one from its hash, so that it can be cancelled at
// builders. An order that follows another one gets one from its ID, so that it can be withdrawn
// with that one. Other orders without a replacementUuid have none: zero.
func OutgoingReplacement(o *rpc.Order) uuid.UUID {
	switch hash := o.Hash(); {
	case o.Replacement != uuid.Nil:
		return uuid.NewSHA1(o.Replacement, o.Signer[:])
	case o.Follows != 0:
		return uuid.NewSHA1(uuid.NewSHA1(uuid.Nil, hash[:]), binary.BigEndian.AppendUint64(o.Signer[:], o.ID))
	case o.Kind == rpc.KindPrivate:
		return uuid.NewSHA1(uuid.NewSHA1(uuid.Nil, hash[:]), o.Signer[:])
	}
	return uuid.Nil
}

// flatten appends a bundle's transactions to txs, depth first.
func flatten(txs []*rpc.Transaction, b *rpc.Bundle) ([]*rpc.Transaction, error) {
	var err error
	for _, e := range b.Elements {
		switch {
		case e.Tx != nil:
			txs = append(txs, e.Tx)
		case e.Bundle != nil:
			if txs, err = flatten(txs, e.Bundle); err != nil {
				return nil, err
			}
		default:
			return nil, ErrUnmatched
		}
	}
	return txs, nil
}

// refund sets the bundle's refund, if it has one. The error says that eth_sendBundle cannot express
// it.
func (out *outgoingBundle) refund(b *rpc.Bundle) error {
	for _, e := range b.Elements {
		if e.Bundle != nil && hasRefund(e.Bundle) {
			return notConvertible("an inner bundle has a refund")
		}
	}
	switch {
	case len(b.Refunds) == 0:
		return nil
	case len(b.Refunds) > 1:
		return notConvertible("%d refunds", len(b.Refunds))
	case b.Refunds[0].Element != 0:
		return notConvertible("the refund is for element %d", b.Refunds[0].Element)
	}
	payer, err := payerOf(b)
	if err != nil {
		return err
	}
	payee := payeesOf(b.Elements[0])
	if len(b.PaidBy) > 0 {
		payee = b.Shares
	}
	if len(payee) != 1 {
		return notConvertible("the refund goes to %d addresses", len(payee))
	}
	percent := b.Refunds[0].Percent * payee[0].Percent
	if percent == 0 {
		return nil
	}
	if percent%100 != 0 || percent/100 > 99 {
		return notConvertible("the refund is %d %% of %d %%", payee[0].Percent, b.Refunds[0].Percent)
	}
	out.RefundPercent, out.RefundRecipient = percent/100, &payee[0].Address
	out.RefundHashes, out.DelayedRefund = []common.Hash{payer.Hash}, b.DelayedRefund
	return nil
}

func hasRefund(b *rpc.Bundle) bool {
	if len(b.Refunds) > 0 {
		return true
	}
	for _, e := range b.Elements {
		if e.Bundle != nil && hasRefund(e.Bundle) {
			return true
		}
	}
	return false
}

// payerOf is the transaction whose payment the refund is a part of.
func payerOf(b *rpc.Bundle) (*rpc.Transaction, error) {
	payers := b.PaidBy
	if len(payers) == 0 {
		for i := 1; i < len(b.Elements); i++ {
			payers = append(payers, i)
		}
	}
	if len(payers) != 1 || b.Elements[payers[0]].Tx == nil {
		return nil, notConvertible("the refund is paid by something else than one transaction")
	}
	return b.Elements[payers[0]].Tx, nil
}

// payeesOf are the addresses that share the refund for an element: its bundle's refundConfig, or
// else the signer of its first transaction.
func payeesOf(e rpc.Element) []rpc.Share {
	for e.Bundle != nil && len(e.Bundle.Elements) > 0 {
		if len(e.Bundle.Shares) > 0 {
			return e.Bundle.Shares
		}
		e = e.Bundle.Elements[0]
	}
	if e.Tx == nil {
		return nil
	}
	return []rpc.Share{{Address: e.Tx.From, Percent: 100}}
}
