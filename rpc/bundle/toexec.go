package bundle

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// ErrUnmatched says that a bundle follows an order which was not put in its place yet: nobody can simulate or include it.
var ErrUnmatched = errors.New("unmatched bundle")

// ToExec is an order's bundle for the simulator. The transactions are decoded again, since orders keep them as bytes; their senders are known.
// Where the bundle follows a hash the error is ErrUnmatched; any other one means that the order is not one of this package's.
func ToExec(b *rpc.Bundle) (*exec.Bundle, error) {
	converted := execTerms(b)
	for _, e := range b.Elements {
		element, err := execElement(e)
		if err != nil {
			return nil, err
		}
		converted.Elements = append(converted.Elements, element)
	}
	return converted, nil
}

func execElement(e rpc.Element) (exec.Element, error) {
	switch {
	case e.Tx != nil:
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(e.Tx.Raw); err != nil {
			return exec.Element{}, fmt.Errorf("decode transaction %s of an order: %w", e.Tx.Hash, err)
		}
		return exec.Element{Tx: &exec.Tx{
			Transaction: tx.WithoutBlobTxSidecar(), From: e.Tx.From, CanRevert: e.Tx.CanRevert, CanDrop: e.Tx.CanDrop,
		}}, nil
	case e.Bundle != nil:
		inner, err := ToExec(e.Bundle)
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
