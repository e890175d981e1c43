package bundle

import (
	"github.com/gavel-relay/gavel/rpc"
)

// terms checks the refunds and the privacy of a bundle and of those in it, and returns the bundle
// with these terms. It has no transactions yet.
func (f *shareForm) terms(limits Config) (*rpc.Bundle, error) {
	b := &rpc.Bundle{WantRefundPercent: limits.WantRefundPercent}
	validity, privacy := &f.params.Validity, &f.params.Privacy
	if f.follows() && len(validity.Refund) > 0 {
		return nil, rpc.InvalidConstraints.With("%s.validity.refund: who follows a hash cannot set refunds", f.path)
	}
	var err error
	if b.Shares, err = readShares(f.path+".validity.refundConfig", validity.RefundConfig); err != nil {
		return nil, err
	}
	if b.Refunds, err = readRefunds(f.path+".validity.refund", validity.Refund, len(f.elements)); err != nil {
		return nil, err
	}
	if b.Hints, err = readHints(f.path+".privacy.hints", privacy.Hints); err != nil {
		return nil, err
	}
	if f.follows() && b.Hints != 0 {
		return nil, rpc.InvalidPrivacy.With("%s.privacy.hints: who follows a hash cannot share hints", f.path)
	}
	if percent := privacy.WantRefund; percent != nil {
		if *percent < 0 || *percent > 100 {
			return nil, rpc.InvalidPrivacy.With("%s.privacy.wantRefund: %d is not between 0 and 100", f.path, *percent)
		}
		b.WantRefundPercent = int(*percent)
	}
	for _, e := range f.elements {
		element := rpc.Element{Match: e.hash}
		if e.bundle != nil {
			if element.Bundle, err = e.bundle.terms(limits); err != nil {
				return nil, err
			}
		}
		b.Elements = append(b.Elements, element)
	}
	return b, nil
}

// fill adds the transactions, windows and hashes.
func (f *shareForm) fill(b *rpc.Bundle) {
	b.Window = f.window
	for i, e := range f.elements {
		switch {
		case e.tx != nil:
			b.Elements[i].Tx = e.tx.order()
		case e.bundle != nil:
			e.bundle.fill(b.Elements[i].Bundle)
		}
	}
	b.Hash = ShareHash(b.Elements)
}
