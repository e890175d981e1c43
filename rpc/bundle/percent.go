package bundle

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// shareParams is one address' part of a refund: validity.refundConfig, and validity.refund of
// private transactions.
type shareParams struct {
	Address *Address `json:"address"`
	Percent *Percent `json:"percent"`
}

// refundParams is a refund for an element: validity.refund of bundles.
type refundParams struct {
	Element Number   `json:"bodyIdx"`
	Percent *Percent `json:"percent"`
}

// readShares reads how a refund is divided among addresses.
func readShares(path string, list []shareParams) ([]rpc.Share, error) {
	var sum percentSum
	var shares []rpc.Share
	for i, share := range list {
		if share.Address == nil {
			return nil, MissingParam(fmt.Sprintf("%s[%d].address", path, i))
		}
		if err := sum.add(path, i, share.Percent); err != nil {
			return nil, err
		}
		shares = append(shares, rpc.Share{Address: common.Address(*share.Address), Percent: int(*share.Percent)})
	}
	return shares, nil
}

// readRefunds reads the refunds for elements of a body with that many elements.
func readRefunds(path string, list []refundParams, elements int) ([]rpc.ElementRefund, error) {
	var sum percentSum
	var refunds []rpc.ElementRefund
	seen := map[uint64]bool{}
	for i, refund := range list {
		if !refund.Element.Set {
			return nil, MissingParam(fmt.Sprintf("%s[%d].bodyIdx", path, i))
		}
		element := refund.Element.Value
		if element >= uint64(elements) {
			return nil, rpc.InvalidConstraints.With("%s[%d].bodyIdx: %d, but the body has %d elements", path, i,
				element, elements)
		}
		if seen[element] {
			return nil, rpc.InvalidConstraints.With("%s[%d].bodyIdx: element %d is refunded twice", path, i, element)
		}
		seen[element] = true
		if err := sum.add(path, i, refund.Percent); err != nil {
			return nil, err
		}
		refunds = append(refunds, rpc.ElementRefund{Element: int(element), Percent: int(*refund.Percent)})
	}
	return refunds, nil
}

// percentSum adds up the percentages of one list.
type percentSum int

func (s *percentSum) add(path string, i int, percent *Percent) error {
	if percent == nil {
		return MissingParam(fmt.Sprintf("%s[%d].percent", path, i))
	}
	if *percent < 0 || *percent > 100 {
		return rpc.InvalidConstraints.With("%s[%d].percent: %d is not between 0 and 100", path, i, *percent)
	}
	if *s += percentSum(*percent); *s > 100 {
		return rpc.InvalidConstraints.With("%s: the percentages sum to more than 100", path)
	}
	return nil
}
