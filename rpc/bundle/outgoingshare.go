package bundle

import (
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// outgoingShare is params[0] of a mev_sendBundle to a builder. It does not contain the hints that
// its sender shares with searchers.
type outgoingShare struct {
	Version         string            `json:"version"`
	ReplacementUUID uuid.UUID         `json:"replacementUuid,omitzero"`
	Inclusion       outgoingInclusion `json:"inclusion"`
	Body            []outgoingElement `json:"body"`
	Validity        outgoingValidity  `json:"validity,omitzero"`
}

type outgoingInclusion struct {
	Block    hexutil.Uint64 `json:"block"`
	MaxBlock hexutil.Uint64 `json:"maxBlock"`
}

type outgoingElement struct {
	Tx         hexutil.Bytes  `json:"tx,omitempty"`
	CanRevert  *bool          `json:"canRevert,omitempty"`
	RevertMode string         `json:"revertMode,omitempty"`
	Bundle     *outgoingShare `json:"bundle,omitempty"`
}

type outgoingValidity struct {
	Refund       []outgoingRefund `json:"refund,omitempty"`
	RefundConfig []outgoingPayee  `json:"refundConfig,omitempty"`
}

type outgoingRefund struct {
	Element int `json:"bodyIdx"`
	Percent int `json:"percent"`
}

type outgoingPayee struct {
	Address common.Address `json:"address"`
	Percent int            `json:"percent"`
}

// OutgoingShare is the order for one block as params[0] of mev_sendBundle v0.1. replacement is
// OutgoingReplacement's, or zero for builders that do not support replacements. The error is
// ErrUnmatched, or ErrNotConvertible: mev_sendBundle has no timestamps and cannot choose which
// transactions pay a refund.
func OutgoingShare(o *rpc.Order, block uint64, replacement uuid.UUID) (json.RawMessage, error) {
	window := o.Bundle.Window
	switch {
	case block < window.FirstBlock || block > window.LastBlock:
		return nil, notConvertible("block %d is not in %d to %d", block, window.FirstBlock, window.LastBlock)
	case window.MinTimestamp != 0 || window.MaxTimestamp != 0:
		return nil, notConvertible("it has timestamps")
	}
	out, err := shareOut(&o.Bundle, hexutil.Uint64(block))
	if err != nil {
		return nil, err
	}
	out.ReplacementUUID = replacement
	return json.Marshal(out)
}

func shareOut(b *rpc.Bundle, block hexutil.Uint64) (*outgoingShare, error) {
	if len(b.PaidBy) > 0 {
		return nil, notConvertible("its refund is paid by chosen transactions")
	}
	out := &outgoingShare{Version: "v0.1", Inclusion: outgoingInclusion{Block: block, MaxBlock: block}}
	for _, refund := range b.Refunds {
		out.Validity.Refund = append(out.Validity.Refund, outgoingRefund(refund))
	}
	for _, share := range b.Shares {
		out.Validity.RefundConfig = append(out.Validity.RefundConfig, outgoingPayee(share))
	}
	for _, e := range b.Elements {
		element, err := elementOut(e, block)
		if err != nil {
			return nil, err
		}
		out.Body = append(out.Body, element)
	}
	return out, nil
}

func elementOut(e rpc.Element, block hexutil.Uint64) (outgoingElement, error) {
	switch {
	case e.Tx != nil:
		out := outgoingElement{Tx: e.Tx.Raw, CanRevert: &e.Tx.CanRevert}
		if e.Tx.CanDrop {
			out.RevertMode = "drop"
		}
		return out, nil
	case e.Bundle != nil:
		inner, err := shareOut(e.Bundle, block)
		return outgoingElement{Bundle: inner}, err
	}
	return outgoingElement{}, ErrUnmatched
}
