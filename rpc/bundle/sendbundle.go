package bundle

import (
	"encoding/json"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// sendParams is params[0] of eth_sendBundle. The fields after builders are not in the
// interface description.
type sendParams struct {
	Txs             RawList     `json:"txs"`
	BlockNumber     Number      `json:"blockNumber"`
	MinTimestamp    Number      `json:"minTimestamp"`
	MaxTimestamp    Number      `json:"maxTimestamp"`
	RevertingHashes []HashParam `json:"revertingTxHashes"`
	ReplacementUUID UUID        `json:"replacementUuid"`
	Builders        []string    `json:"builders"`

	UUID            UUID        `json:"uuid"`
	Version         string      `json:"version"`
	DroppingHashes  []HashParam `json:"droppingTxHashes"`
	RefundPercent   Percent     `json:"refundPercent"`
	RefundRecipient *Address    `json:"refundRecipient"`
	RefundHashes    []HashParam `json:"refundTxHashes"`
	DelayedRefund   bool        `json:"delayedRefund"`
	SigningAddress  *Address    `json:"signingAddress"`
}

// replacement is the replacement's UUID, from either of its fields.
func (p *sendParams) replacement() uuid.UUID {
	if p.ReplacementUUID != (UUID{}) {
		return uuid.UUID(p.ReplacementUUID)
	}
	return uuid.UUID(p.UUID)
}

// ReadSendBundle reads the params of eth_sendBundle. A request with a replacementUuid and without
// transactions cancels: then order is nil, and cancel is the UUID. Errors are *rpc.Refused.
//
// A refundPercent becomes one entry in the bundle's Refunds, of element 0: that percentage of what
// PaidBy pays the block's fee recipient. PaidBy is the transaction in refundTxHashes, or else the
// last one. Shares name who gets it: refundRecipient, or else the first transaction's sender.
//
// Other senders are not recovered here (see ToExec). So a signature with valid values that recovers
// to no address is accepted, and the order fails when it is simulated.
func ReadSendBundle(params json.RawMessage, in Intake) (order *rpc.Order, cancel uuid.UUID, err error) {
	var p sendParams
	if err := ReadPositional(params, &p); err != nil {
		return nil, uuid.Nil, err
	}
	if p.Version != "" && p.Version != "v1" && p.Version != "v2" {
		return nil, uuid.Nil, rpc.BundleVersion.With("params[0].version: %q, want v1 or v2", clip(p.Version))
	}
	if err := checkSigner(p.SigningAddress, in.Signer); err != nil {
		return nil, uuid.Nil, err
	}
	if p.Txs.Count() == 0 {
		if cancel = p.replacement(); cancel == uuid.Nil {
			return nil, uuid.Nil, rpc.BundleEmpty.Plain()
		}
		return nil, cancel, nil
	}
	order, err = p.order(in)
	return order, uuid.Nil, err
}

func (p *sendParams) order(in Intake) (*rpc.Order, error) {
	txs, err := readTxs("params[0].txs", p.Txs, in.Limits)
	if err != nil {
		return nil, err
	}
	window, err := p.window(in)
	if err != nil {
		return nil, err
	}
	builders, err := builderNames("params[0].builders", p.Builders)
	if err != nil {
		return nil, err
	}
	if err := p.checkRefund(); err != nil {
		return nil, err
	}
	if err := decode(txs); err != nil {
		return nil, err
	}
	names := hashes(txs)
	bundle := rpc.Bundle{Hash: Hash(names), Window: window}
	if err := p.refund(&bundle, names); err != nil {
		return nil, err
	}
	if err := checkSignatures(txs, in.Chain); err != nil {
		return nil, err
	}
	switch {
	case bundle.Refunds == nil || p.RefundRecipient != nil:
	case in.Limits.Literal:
		bundle.Shares[0].Address = in.Signer
	default:
		if err := findSenders(txs[:1], in); err != nil {
			return nil, err
		}
		bundle.Shares[0].Address = txs[0].From
	}
	bundle.Elements = make([]rpc.Element, len(txs))
	for i, s := range txs {
		s.CanRevert = slices.Contains(p.RevertingHashes, HashParam(names[i]))
		s.CanDrop = slices.Contains(p.DroppingHashes, HashParam(names[i]))
		bundle.Elements[i].Tx = s.order()
	}
	return &rpc.Order{
		Kind: rpc.KindBundle, Signer: in.Signer, ReceivedAt: in.At, Bundle: bundle, Replacement: p.replacement(),
		Builders: builders,
	}, nil
}

// window is the bundle's only block, by default the next one, and the bounds of its timestamp.
func (p *sendParams) window(in Intake) (rpc.Window, error) {
	block, head := p.BlockNumber.Value, in.Head.Number
	if block == 0 && in.Limits.Literal {
		return rpc.Window{}, rpc.BundleMissingBlock.Plain()
	}
	if block == 0 {
		block = head + 1
	}
	if block <= head {
		return rpc.Window{}, rpc.InvalidInclusion.With("params[0].blockNumber: %d is not above the newest block %d", block,
			head)
	}
	if most := in.Limits.MaxBlocksAhead; most > 0 && block-head > most {
		return rpc.Window{}, rpc.InvalidInclusion.With("params[0].blockNumber: %d is more than %d above the newest block %d",
			block, most, head)
	}
	earliest, latest := p.MinTimestamp.Value, p.MaxTimestamp.Value
	if latest != 0 && latest < earliest {
		return rpc.Window{}, rpc.InvalidTimestamps.With("params[0].maxTimestamp: %d is before minTimestamp %d",
			latest, earliest)
	}
	if latest != 0 && latest <= in.Head.Timestamp {
		return rpc.Window{}, rpc.InvalidTimestamps.With("params[0].maxTimestamp: %d is over, the newest block has %d", latest,
			in.Head.Timestamp)
	}
	return rpc.Window{FirstBlock: block, LastBlock: block, MinTimestamp: earliest, MaxTimestamp: latest}, nil
}

// checkRefund checks as much of the refund as it can without the transactions.
func (p *sendParams) checkRefund() error {
	if p.RefundPercent < 0 || p.RefundPercent > 99 {
		return rpc.InvalidRefund.With("params[0].refundPercent: %d is not between 1 and 99", p.RefundPercent)
	}
	if len(p.RefundHashes) > 1 {
		return rpc.InvalidRefund.With("params[0].refundTxHashes: %d hashes, want at most 1", len(p.RefundHashes))
	}
	return nil
}

// refund sets the bundle's terms of the refund, if there is one. names are the hashes of its
// transactions.
func (p *sendParams) refund(bundle *rpc.Bundle, names []common.Hash) error {
	if p.RefundPercent == 0 {
		return nil
	}
	payer := len(names) - 1
	if len(p.RefundHashes) == 1 {
		if payer = slices.Index(names, common.Hash(p.RefundHashes[0])); payer < 0 {
			return rpc.InvalidRefund.With("params[0].refundTxHashes[0]: %s is not in the bundle", common.Hash(p.RefundHashes[0]))
		}
	}
	bundle.Refunds = []rpc.ElementRefund{{Element: 0, Percent: int(p.RefundPercent)}}
	bundle.PaidBy, bundle.DelayedRefund = []int{payer}, p.DelayedRefund
	bundle.Shares = []rpc.Share{{Percent: 100}}
	if p.RefundRecipient != nil {
		bundle.Shares[0].Address = common.Address(*p.RefundRecipient)
	}
	return nil
}
