package orders

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
)

// Limits of the orders that a builder accepts.
const (
	maxTxs     = 100
	maxNesting = 5
	// privateBlocks is for how many blocks a private transaction is tried.
	privateBlocks = 25
)

// bundleForm is params[0] of eth_sendBundle, with the fields that builders support.
type bundleForm struct {
	Txs             []hexutil.Bytes `json:"txs"`
	BlockNumber     *hexutil.Uint64 `json:"blockNumber"`
	MinTimestamp    uint64          `json:"minTimestamp"`
	MaxTimestamp    uint64          `json:"maxTimestamp"`
	RevertingHashes []common.Hash   `json:"revertingTxHashes"`
	DroppingHashes  []common.Hash   `json:"droppingTxHashes"`
	ReplacementUUID uuid.UUID       `json:"replacementUuid"`
	RefundPercent   int             `json:"refundPercent"`
	RefundRecipient *common.Address `json:"refundRecipient"`
	RefundHashes    []common.Hash   `json:"refundTxHashes"`
	DelayedRefund   bool            `json:"delayedRefund"`
}

// order converts the form to an order. Without a block number, or with 0, it is for the next block.
func (f *bundleForm) order(signer types.Signer) (*Order, error) {
	if len(f.Txs) == 0 {
		return nil, errors.New("bundle with no txs")
	}
	order := &Order{Replacement: f.ReplacementUUID, Window: Window{MinTimestamp: f.MinTimestamp,
		MaxTimestamp: f.MaxTimestamp}}
	if f.BlockNumber == nil || *f.BlockNumber == 0 {
		order.Window.Blocks = 1
	} else {
		order.Window.FirstBlock, order.Window.LastBlock = uint64(*f.BlockNumber), uint64(*f.BlockNumber)
	}
	for _, raw := range f.Txs {
		tx, err := txOf(signer, raw)
		if err != nil {
			return nil, err
		}
		tx.CanRevert, tx.CanDrop = slices.Contains(f.RevertingHashes, tx.Hash()), slices.Contains(f.DroppingHashes, tx.Hash())
		order.Bundle.Elements = append(order.Bundle.Elements, Element{Tx: tx})
	}
	return order, f.refund(&order.Bundle)
}

// refund sets the bundle's refund. It is a part of what the last transaction pays, or the
// transaction that the form names. It goes to the sender of the first transaction, or to the
// recipient that the form names.
func (f *bundleForm) refund(b *Bundle) error {
	switch {
	case f.RefundPercent < 0 || f.RefundPercent > 99:
		return fmt.Errorf("invalid refund percent %d", f.RefundPercent)
	case len(f.RefundHashes) > 1:
		return fmt.Errorf("%d refundTxHashes, at most 1", len(f.RefundHashes))
	case f.RefundPercent == 0:
		return nil
	}
	b.Refunds, b.PaidBy, b.Delayed = []Refund{{Element: 0, Percent: f.RefundPercent}}, f.RefundHashes, f.DelayedRefund
	if len(b.PaidBy) == 0 {
		b.PaidBy = []common.Hash{b.Elements[len(b.Elements)-1].Tx.Hash()}
	}
	if f.RefundRecipient != nil {
		b.Shares = []Share{{Address: *f.RefundRecipient, Percent: 100}}
	}
	return nil
}

// shareForm is params[0] of mev_sendBundle. All its transactions must be given, none by hash only.
type shareForm struct {
	ReplacementUUID uuid.UUID `json:"replacementUuid"`
	Inclusion       struct {
		Block    hexutil.Uint64 `json:"block"`
		MaxBlock hexutil.Uint64 `json:"maxBlock"`
	} `json:"inclusion"`
	Body     []elementForm `json:"body"`
	Validity struct {
		Refund []struct {
			Element int `json:"bodyIdx"`
			Percent int `json:"percent"`
		} `json:"refund"`
		RefundConfig []Share `json:"refundConfig"`
	} `json:"validity"`
}

type elementForm struct {
	Hash       *common.Hash  `json:"hash"`
	Tx         hexutil.Bytes `json:"tx"`
	CanRevert  bool          `json:"canRevert"`
	RevertMode string        `json:"revertMode"`
	Bundle     *shareForm    `json:"bundle"`
}

func (f *shareForm) order(signer types.Signer) (*Order, error) {
	bundle, err := f.bundle(signer, 0)
	if err != nil {
		return nil, err
	}
	if count := len(bundle.transactions()); count > maxTxs {
		return nil, fmt.Errorf("%d transactions, at most %d", count, maxTxs)
	}
	window := Window{FirstBlock: uint64(f.Inclusion.Block), LastBlock: max(uint64(f.Inclusion.MaxBlock),
		uint64(f.Inclusion.Block))}
	if window.FirstBlock == 0 {
		return nil, errors.New("inclusion without a block")
	}
	return &Order{Replacement: f.ReplacementUUID, Bundle: *bundle, Window: window}, nil
}

func (f *shareForm) bundle(signer types.Signer, level int) (*Bundle, error) {
	if len(f.Body) == 0 || len(f.Body) > maxTxs || level > maxNesting {
		return nil, fmt.Errorf("a body with %d elements, at level %d", len(f.Body), level)
	}
	b := &Bundle{Shares: f.Validity.RefundConfig}
	for i := range f.Body {
		element, err := f.Body[i].element(signer, level)
		if err != nil {
			return nil, err
		}
		b.Elements = append(b.Elements, element)
	}
	for _, refund := range f.Validity.Refund {
		b.Refunds = append(b.Refunds, Refund(refund))
	}
	return b, b.check()
}

func (f *elementForm) element(signer types.Signer, level int) (Element, error) {
	switch {
	case f.Hash != nil:
		return Element{}, errors.New("unmatched bundle")
	case (f.Bundle == nil) == (len(f.Tx) == 0):
		return Element{}, errors.New("an element is a transaction or a bundle")
	case f.Bundle != nil:
		inner, err := f.Bundle.bundle(signer, level+1)
		return Element{Bundle: inner}, err
	}
	tx, err := txOf(signer, f.Tx)
	if err != nil {
		return Element{}, err
	}
	tx.CanRevert, tx.CanDrop = f.CanRevert, f.RevertMode == "drop"
	return Element{Tx: tx}, nil
}

// check refuses a bundle whose refunds cannot be paid.
func (b *Bundle) check() error {
	refunds, shares := 0, 0
	for _, r := range b.Refunds {
		if r.Element < 0 || r.Element >= len(b.Elements) || r.Percent < 0 || r.Percent > 100 {
			return fmt.Errorf("a refund of %d %% for element %d of %d", r.Percent, r.Element, len(b.Elements))
		}
		refunds += r.Percent
	}
	for _, s := range b.Shares {
		if s.Percent < 0 || s.Percent > 100 {
			return fmt.Errorf("a share of %d %%", s.Percent)
		}
		shares += s.Percent
	}
	if refunds > 100 || shares > 100 {
		return fmt.Errorf("refunds of %d %% with shares of %d %%", refunds, shares)
	}
	return nil
}

// privateForm is params[0] of eth_sendPrivateTransaction.
type privateForm struct {
	Tx             hexutil.Bytes   `json:"tx"`
	MaxBlockNumber *hexutil.Uint64 `json:"maxBlockNumber"`
}

func (f *privateForm) order(signer types.Signer) (*Order, error) {
	tx, err := txOf(signer, f.Tx)
	if err != nil {
		return nil, err
	}
	order := &Order{Bundle: Bundle{Elements: []Element{{Tx: tx}}}, Window: Window{Blocks: privateBlocks}}
	if f.MaxBlockNumber != nil {
		order.Window.LastBlock = uint64(*f.MaxBlockNumber)
	}
	// The name is derived from the transaction, so that it is in the intake only once, however
	// often it is sent.
	order.Replacement = uuid.NewSHA1(uuid.Nil, tx.Hash().Bytes())
	return order, nil
}

func txOf(signer types.Signer, raw []byte) (*Tx, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("unable to decode txs: %w", err)
	}
	from, err := types.Sender(signer, tx)
	if err != nil {
		return nil, fmt.Errorf("transaction %s: %w", tx.Hash(), err)
	}
	return &Tx{Transaction: tx, From: from}, nil
}
