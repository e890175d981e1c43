package method

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Receivers keeps where refunds go.
type Receivers interface {
	// SetRecipient redirects the refunds of one address, those of later blocks, to another. Its
	// error is a *rpc.Refused.
	SetRecipient(at time.Time, from, to common.Address) error
}

// setRecipient is flashbots_setFeeRefundRecipient.
func (m *Methods) setRecipient() Method {
	return Method{
		Name:    "flashbots_setFeeRefundRecipient",
		Summary: "Have the refunds for one's own address go to another one.",
		About: "The request must be signed with the key of `from`. It holds for refunds that are credited later; those " +
			"that are there stay. Who sees a " +
			"signed request can send it again: to undo a change, sign a new one.",
		Params: []Param{required("from", address.says("address of the signing key")),
			required("to", address.says("who gets its refunds"))},
		Example: `["'$ADDRESS'","0x000000000000000000000000000000000000dEaD"]`,
		Result: object(
			needs("from", address, "as it is in force, in lower case"),
			needs("to", address, "as it is in force, in lower case"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.NotYourAddress, rpc.JournalUnavailable},
		Do: func(_ context.Context, call *Call) (any, error) {
			var from, to *bundle.Address
			if err := bundle.ReadPositional(call.Params, &from, &to); err != nil {
				return nil, err
			}
			switch {
			case from == nil:
				return nil, bundle.MissingParam("params[0]")
			case to == nil:
				return nil, bundle.MissingParam("params[1]")
			case common.Address(*from) != call.Signer:
				return nil, rpc.NotYourAddress.With("signed by %s, not by %s", call.Signer, common.Address(*from))
			}
			if err := m.Receivers.SetRecipient(call.At, common.Address(*from), common.Address(*to)); err != nil {
				return nil, err
			}
			return struct {
				From string `json:"from"`
				To   string `json:"to"`
			}{lower(common.Address(*from)), lower(common.Address(*to))}, nil
		},
	}
}
