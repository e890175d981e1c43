package bundle

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// Errors of ToExec.
var (
	// ErrUnmatched says that a bundle follows an order which was not put in its place yet: nobody can
	// simulate or include it.
	ErrUnmatched = errors.New("unmatched bundle")
	// ErrSignature says that a signature is nobody's: nobody can ever include the transaction.
	ErrSignature = errors.New("invalid signature")
)

// ToExec is an order's bundle for the simulator. The transactions are decoded again, since orders
// keep them as bytes. Senders that the order does not know are found now; the order stays as it is.
// The error is ErrUnmatched where the bundle follows a hash, and ErrSignature where a transaction
// has no sender; any other one means that the order is not one of this package's.
func ToExec(b *rpc.Bundle, senders Senders) (*exec.Bundle, error) {
	var unknown []*exec.Tx
	converted, err := execBundle(b, &unknown)
	if err != nil {
		return nil, err
	}
	if i, err := senders.Find(unknown); err != nil {
		return nil, fmt.Errorf("%w: transaction %s: %w", ErrSignature, unknown[i].Hash(), err)
	}
	return converted, nil
}

// execBundle converts a bundle, and collects the transactions whose senders the order does not
// know.
func execBundle(b *rpc.Bundle, unknown *[]*exec.Tx) (*exec.Bundle, error) {
	converted := execTerms(b)
	for _, e := range b.Elements {
		element, err := execElement(e, unknown)
		if err != nil {
			return nil, err
		}
		converted.Elements = append(converted.Elements, element)
	}
	return converted, nil
}

func execElement(e rpc.Element, unknown *[]*exec.Tx) (exec.Element, error) {
	switch {
	case e.Tx != nil:
		decoded := new(types.Transaction)
		if err := decoded.UnmarshalBinary(e.Tx.Raw); err != nil {
			return exec.Element{}, fmt.Errorf("decode transaction %s of an order: %w", e.Tx.Hash, err)
		}
		tx := &exec.Tx{Transaction: decoded.WithoutBlobTxSidecar(), From: e.Tx.From, CanRevert: e.Tx.CanRevert,
			CanDrop: e.Tx.CanDrop}
		if tx.From == (common.Address{}) {
			*unknown = append(*unknown, tx)
		}
		return exec.Element{Tx: tx}, nil
	case e.Bundle != nil:
		inner, err := execBundle(e.Bundle, unknown)
		return exec.Element{Bundle: inner}, err
	}
	return exec.Element{}, ErrUnmatched
}

// execTerms are the terms of a bundle's refunds; elements follow.
func execTerms(b *rpc.Bundle) *exec.Bundle {
	converted := &exec.Bundle{PaidBy: b.PaidBy, Recipients: len(b.Shares)}
	for _, refund := range b.Refunds {
		converted.Refunds = append(converted.Refunds, exec.Refund{Element: refund.Element, Percent: refund.Percent})
	}
	return converted
}

// GasLimits is what the transactions of elements may use together.
func GasLimits(elements []exec.Element) (gas uint64) {
	for _, e := range elements {
		switch {
		case e.Tx != nil:
			gas += e.Tx.Gas()
		case e.Bundle != nil:
			gas += GasLimits(e.Bundle.Elements)
		}
	}
	return gas
}
