package bundle

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/param"
)

// ReadSendShare reads the params of mev_sendBundle. Errors are *rpc.Refused, from the first of these rules that does not hold: depth, version,
// blocks, body and revert modes, for each bundle from the outside in; number and size of the transactions; their decoding; refunds, hints and
// wantRefund; their senders.
func ReadSendShare(params json.RawMessage, in Intake) (*rpc.Order, error) {
	var raw param.Later
	if err := param.Positional(params, &raw); err != nil {
		return nil, err
	}
	r := shareReader{limits: in.Limits, maxDepth: in.Limits.MaxDepth, maxBackruns: in.Limits.MaxBackruns, windowOf: sendWindow(in)}
	form, err := r.form("params[0]", raw, 0, nil)
	if err != nil {
		return nil, err
	}
	if last := form.window.LastBlock; last <= in.Head.Number { // inner bundles have narrowed it
		return nil, rpc.InvalidInclusion.With("params[0]: the last common block %d is not above the newest block %d", last, in.Head.Number)
	}
	builders, err := builderNames("params[0].privacy.builders", form.params.Privacy.Builders)
	if err != nil {
		return nil, err
	}
	bundle, err := r.finish(form, in)
	if err != nil {
		return nil, err
	}
	return &rpc.Order{
		Kind: rpc.KindShare, Signer: in.Signer, ReceivedAt: in.At, Bundle: *bundle,
		Replacement: uuid.UUID(form.params.ReplacementUUID), Builders: builders,
	}, nil
}

// finish decodes the transactions of a bundle whose form is checked, checks its terms and finds the senders.
func (r *shareReader) finish(form *shareForm, in Intake) (*rpc.Bundle, error) {
	if err := fits(r.txs, r.limits); err != nil {
		return nil, err
	}
	if err := decode(r.txs); err != nil {
		return nil, err
	}
	bundle, err := form.terms(r.limits)
	if err != nil {
		return nil, err
	}
	if err := findSenders(r.txs, in); err != nil {
		return nil, err
	}
	form.fill(bundle)
	return bundle, nil
}
