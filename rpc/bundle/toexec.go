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
	// ErrUnmatched says that a bundle follows an order that has not been put in place of its hash
	// yet. It can be neither simulated nor included.
	ErrUnmatched = errors.New("unmatched bundle")
	// ErrSignature says that a signature belongs to no address. The transaction can never be
	// included.
	ErrSignature = errors.New("invalid signature")
)

// ToExec converts an order's bundle for the simulator. The transactions are decoded again, since
// orders keep them as bytes. Senders that the order does not have are recovered; the order is not
// changed. The error is ErrUnmatched if the bundle follows a hash, and ErrSignature if a
// transaction has no sender. Any other error means that this package did not make the order.
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
// have.
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

// execTerms converts the terms of a bundle's refunds, without its elements.
func execTerms(b *rpc.Bundle) *exec.Bundle {
	converted := &exec.Bundle{PaidBy: b.PaidBy, Recipients: len(b.Shares)}
	for _, refund := range b.Refunds {
		converted.Refunds = append(converted.Refunds, exec.Refund{Element: refund.Element, Percent: refund.Percent})
	}
	return converted
}

// GasLimits is the sum of the gas limits of the elements' transactions.
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
