package bundle

import (
	"encoding/json"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// privateParams is params[0] of eth_sendPrivateTransaction.
type privateParams struct {
	Tx             *HexBytes    `json:"tx"`
	MaxBlockNumber Number       `json:"maxBlockNumber"`
	Preferences    *preferences `json:"preferences"`
}

// preferences say who may see a private transaction, which builders get it, and who earns from it.
// Builders may be in them or in their privacy. The addresses in refund get their percentages of all
// that a backrun pays (interface description, Refund rules 3), even with fast. If refund names no
// address, those in refundConfig divide what is given back. Preferences without hints, or with
// null, get the default hints; an empty list means no hints.
type preferences struct {
	Fast      *bool    `json:"fast"`
	CanRevert bool     `json:"canRevert"`
	Builders  []string `json:"builders"`
	// BlockRange is for how many blocks it is tried.
	BlockRange Number        `json:"blockRange"`
	Privacy    privacyParams `json:"privacy"`
	Validity   struct {
		Refund       []privateRefund `json:"refund"`
		RefundConfig []shareParams   `json:"refundConfig"`
	} `json:"validity"`
}

// privacyParams say who may know of a private transaction.
type privacyParams struct {
	Hints    []string `json:"hints"`
	Builders []string `json:"builders"`
}

// privateRefund is one address' part of a refund for a private transaction.
type privateRefund shareParams

// defaultHints are what a private transaction shares unless it says otherwise.
const defaultHints = orderflow.Hash | orderflow.DefaultLogs

// ReadSendPrivate reads the params of eth_sendPrivateTransaction: [{tx, maxBlockNumber,
// preferences}]. Errors are *rpc.Refused.
func ReadSendPrivate(params json.RawMessage, in Intake) (*rpc.Order, error) {
	var p privateParams
	if err := ReadPositional(params, &p); err != nil {
		return nil, err
	}
	return p.order("params[0].tx", "params[0].preferences", in)
}

// ReadSendPrivateRaw reads the params of eth_sendPrivateRawTransaction and eth_sendRawTransaction:
// [tx, preferences]. Errors are *rpc.Refused.
func ReadSendPrivateRaw(params json.RawMessage, in Intake) (*rpc.Order, error) {
	var p privateParams
	if err := ReadPositional(params, &p.Tx, &p.Preferences); err != nil {
		return nil, err
	}
	return p.order("params[0]", "params[1]", in)
}

func (p *privateParams) order(txPath, path string, in Intake) (*rpc.Order, error) {
	if p.Tx == nil {
		return nil, MissingParam(txPath)
	}
	switch {
	case p.Preferences == nil:
		p.Preferences = new(preferences)
	case p.Preferences.Fast == nil && in.Limits.Literal:
		return nil, MissingParam(path + ".fast")
	}
	txs := []*incomingTx{{hex: *p.Tx, path: func() string {
		return txPath
	}, Tx: exec.Tx{CanRevert: p.Preferences.CanRevert}}}
	if err := checkSize(txs, in.Limits); err != nil {
		return nil, err
	}
	window, err := p.window(in)
	if err != nil {
		return nil, err
	}
	order := &rpc.Order{Kind: rpc.KindPrivate, Signer: in.Signer, ReceivedAt: in.At}
	order.Bundle.Window = window
	if err := p.Preferences.apply(order, path, in.Limits); err != nil {
		return nil, err
	}
	if err := decode(txs); err != nil {
		return nil, err
	}
	if err := findSenders(txs, in); err != nil {
		return nil, err
	}
	order.Bundle.Elements = []rpc.Element{{Tx: txs[0].order()}}
	order.Bundle.Hash = ShareHash(order.Bundle.Elements)
	return order, nil
}

// window is from the next block to maxBlockNumber, but for at most PrivateBlocks or blockRange
// blocks.
func (p *privateParams) window(in Intake) (rpc.Window, error) {
	head, last := in.Head.Number, in.Head.Number+in.Limits.PrivateBlocks
	if blocks := p.Preferences.BlockRange.Value; blocks != 0 {
		last = min(last, head+min(blocks, in.Limits.PrivateBlocks))
	}
	if wanted := p.MaxBlockNumber.Value; wanted != 0 {
		last = min(last, wanted)
	}
	if last <= head {
		return rpc.Window{}, rpc.InvalidInclusion.With("params[0].maxBlockNumber: %d is not above the newest block %d", last,
			head)
	}
	return rpc.Window{FirstBlock: head + 1, LastBlock: last}, nil
}

// apply applies the preferences to the order.
func (p *preferences) apply(order *rpc.Order, path string, limits Config) (err error) {
	if order.Builders, err = builderNames(path+".builders", p.Privacy.Builders, p.Builders); err != nil {
		return err
	}
	b := &order.Bundle
	b.Hints = defaultHints
	if p.Privacy.Hints != nil {
		if b.Hints, err = readHints(path+".privacy.hints", p.Privacy.Hints); err != nil {
			return err
		}
	}
	b.WantRefundPercent = limits.WantRefundPercent
	if p.Fast != nil && *p.Fast && limits.FastEnabled {
		order.AllBuilders, b.WantRefundPercent = true, limits.FastSharePercent
	}
	if b.Shares, err = readShares(path+".validity.refundConfig", p.Validity.RefundConfig); err != nil {
		return err
	}
	if refund := p.selectAddressed(); refund != nil {
		b.WantRefundPercent = 100 // the shares get their parts of it, and the rest stays with the builder
		b.Shares, err = readShares(path+".validity.refund", refund)
	}
	return err
}

// selectAddressed returns the entries of refund with an address. Entries without one are for
// elements, and a transaction has only one element.
func (p *preferences) selectAddressed() (refund []shareParams) {
	for _, share := range p.Validity.Refund {
		if share.Address != nil {
			refund = append(refund, shareParams(share))
		}
	}
	return refund
}
