package stream

import (
	"fmt"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/orderflow"
)

// HintConfig is what the operator decides. It must not be changed while it is in use.
type HintConfig struct {
	// Swaps are the logs that default_logs shows. DefaultSwaps are those of the interface
	// description.
	Swaps SwapTable
	// MevGasPrice and GasUsed show the simulation's numbers, rounded up.
	MevGasPrice, GasUsed bool
	// GasLimit repeats a transaction's gas under the name gasLimit. The description has both names;
	// clients read gas.
	GasLimit bool
}

// DefaultHints is what deployed clients expect: with mevGasPrice, without gasUsed.
func DefaultHints() HintConfig { return HintConfig{Swaps: DefaultSwaps(), MevGasPrice: true} }

// LiteralHints is what the interface description says: with gasUsed, and with gasLimit beside gas.
func LiteralHints() HintConfig {
	return HintConfig{Swaps: DefaultSwaps(), MevGasPrice: true, GasUsed: true, GasLimit: true}
}

// Significant digits that are shown of the simulation's numbers (docs/spec.md, Rounding).
const (
	gasPriceDigits = 3
	gasUsedDigits  = 2
)

// ProjectHints returns what is public of an order, in one line; nil if its sender shares nothing.
// It returns an error if a transaction of which something is shown cannot be read. It does not
// change the order, and the line shares no memory with it.
func ProjectHints(shared *orderflow.Shared, cfg HintConfig) (json []byte, err error) {
	if shown(shared.Bundle.Hints) == 0 {
		return nil, nil
	}
	p := hintProjection{cfg: cfg}
	if err := p.bundle(&shared.Bundle); err != nil {
		return nil, err
	}
	line := make([]byte, 0, 192+len(p.logs)+len(p.txs))
	line = append(line, `{"hash":`...)
	line = appendBytes(line, orderflow.MatchingHash(shared.Hash).Bytes())
	line = appendList(append(line, `,"logs":`...), p.logs)
	line = appendList(append(line, `,"txs":`...), p.txs)
	if cfg.MevGasPrice && shared.MevGasPriceWei != nil {
		line = appendQuantity(append(line, `,"mevGasPrice":`...), roundUp(shared.MevGasPriceWei, gasPriceDigits))
	}
	if cfg.GasUsed {
		line = appendQuantity(append(line, `,"gasUsed":`...), roundUp(uint256.NewInt(shared.GasUsed), gasUsedDigits))
	}
	return append(line, '}'), nil
}

// hintProjection collects the elements of the two lists, each followed by a comma.
type hintProjection struct {
	cfg       HintConfig
	logs, txs []byte
}

// bundle adds a bundle's elements, depth first. An inner bundle that shares nothing adds nothing,
// whatever the outer bundle shares.
func (p *hintProjection) bundle(b *orderflow.Bundle) error {
	show := shown(b.Hints)
	if show == 0 {
		return nil
	}
	for i := range b.Elements {
		switch element := &b.Elements[i]; {
		case element.Tx != nil:
			if err := p.tx(element.Tx, show); err != nil {
				return fmt.Errorf("transaction %s: %w", element.Tx.Hash, err)
			}
		case element.Bundle != nil:
			if err := p.bundle(element.Bundle); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *hintProjection) tx(tx *orderflow.Tx, show orderflow.Hints) (err error) {
	p.addLogs(tx.Logs, show)
	if show&ofTx != 0 {
		p.txs, err = appendTx(p.txs, tx, show, p.cfg.GasLimit)
		p.txs = append(p.txs, ',')
	}
	return err
}
