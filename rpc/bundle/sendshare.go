package bundle

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// ReadSendShare reads the params of mev_sendBundle. Errors are *rpc.Refused, from the first of
// these rules that is violated: depth, version, what the service would not do, blocks, body and
// revert modes, for each bundle from the outermost inwards; number and size of the transactions;
// their decoding; refunds, hints and wantRefund; their signatures. Only the senders that get
// refunds, or whose orders others may follow, are recovered now; see ToExec for the others.
func ReadSendShare(params json.RawMessage, in Intake) (*rpc.Order, error) {
	var raw RawValue
	if err := ReadPositional(params, &raw); err != nil {
		return nil, err
	}
	return readShare(raw, false, in)
}

// readShare reads a bundle that is sent, or simulated as if it was sent.
func readShare(raw RawValue, simulates bool, in Intake) (*rpc.Order, error) {
	r := shareReader{
		limits: in.Limits, maxDepth: in.Limits.MaxDepth, maxBackruns: in.Limits.MaxBackruns, simulates: simulates,
		windowOf: sendWindow(in),
	}
	form, err := r.form("params[0]", raw, 0, nil)
	if err != nil {
		return nil, err
	}
	if last := form.window.LastBlock; last <= in.Head.Number { // inner bundles have narrowed it
		return nil, rpc.InvalidInclusion.With("params[0]: the last common block %d is not above the newest block %d", last,
			in.Head.Number)
	}
	builders, err := builderNames("params[0].privacy.builders", form.params.Privacy.Builders)
	if err != nil {
		return nil, err
	}
	bundle, err := r.finish(form, in, form.owners)
	if err != nil {
		return nil, err
	}
	if in.Limits.Literal && len(bundle.Shares) == 0 && !form.follows() {
		bundle.Shares = []rpc.Share{{Address: in.Signer, Percent: 100}}
	}
	return &rpc.Order{
		Kind: rpc.KindShare, Signer: in.Signer, ReceivedAt: in.At, Bundle: *bundle,
		Replacement: uuid.UUID(form.params.ReplacementUUID), Builders: builders,
	}, nil
}

// finish decodes the transactions of a bundle whose form has been checked, checks its terms, and
// finds the senders of the wanted transactions.
func (r *shareReader) finish(form *shareForm, in Intake, wanted func(terms *rpc.Bundle) []*incomingTx) (
	*rpc.Bundle, error) {
	if err := checkSize(r.txs, r.limits); err != nil {
		return nil, err
	}
	if err := decode(r.txs); err != nil {
		return nil, err
	}
	bundle, err := form.terms(r.limits)
	if err != nil {
		return nil, err
	}
	if err := checkSignatures(r.txs, in.Chain); err != nil {
		return nil, err
	}
	if err := findSenders(wanted(bundle), in); err != nil {
		return nil, err
	}
	form.fill(bundle)
	return bundle, nil
}

// owners are the transactions whose senders must be known from the beginning: the owners of
// elements that get refunds (see rpc.Bundle.Shares), the owners of bundles with hints, because
// others may follow these, and the owners of elements that follow another order.
func (f *shareForm) owners(terms *rpc.Bundle) (list []*incomingTx) {
	add := func(e shareElement) {
		if tx := e.owner(); tx != nil && !slices.Contains(list, tx) {
			list = append(list, tx)
		}
	}
	for _, refund := range terms.Refunds {
		add(f.elements[refund.Element])
	}
	if terms.Hints != 0 {
		add(shareElement{bundle: f})
	}
	if f.follows() { // what a follower may learn is limited by sender too
		for _, e := range f.elements[1:] {
			add(e)
		}
	}
	for i, e := range f.elements {
		if e.bundle == nil {
			continue
		}
		for _, tx := range e.bundle.owners(terms.Elements[i].Bundle) {
			add(shareElement{tx: tx})
		}
	}
	return list
}

// owner is the transaction whose sender owns the element; nil if refundConfig names others, or the
// element is a hash.
func (e shareElement) owner() *incomingTx {
	for e.bundle != nil {
		if len(e.bundle.params.Validity.RefundConfig) > 0 {
			return nil
		}
		e = e.bundle.elements[0]
	}
	return e.tx
}
