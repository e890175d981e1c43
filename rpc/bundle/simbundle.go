package bundle

import (
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/param"
)

// Simulation is a mev_simBundle.
type Simulation struct {
	// Hash is the bundle's, by the rule of mev_sendBundle.
	Hash        common.Hash
	Bundle      *exec.Bundle
	Environment exec.Environment
	// Window are the blocks that the bundle is for. The simulated one is none of them: that is a
	// result, "invalid inclusion".
	Window rpc.Window
}

// ReadSimBundle reads the params of mev_simBundle: a bundle, whose blocks may lie anywhere and
// which may have more than one backrun, and overrides, in its simOptions or after it; the latter
// ones win, field by field. Errors are *rpc.Refused.
func ReadSimBundle(params json.RawMessage, in Intake) (*Simulation, error) {
	var raw, second param.Later
	if err := param.Positional(params, &raw, &second); err != nil {
		return nil, err
	}
	r := shareReader{limits: in.Limits, maxDepth: in.Limits.MaxSimDepth, simulates: true, windowOf: simWindow}
	form, err := r.form("params[0]", raw, 0, nil)
	if err != nil {
		return nil, err
	}
	if form.follows() {
		return nil, rpc.UnmatchedBundle.Plain()
	}
	if in.Limits.Literal {
		if err := form.hasRefunds(); err != nil {
			return nil, err
		}
	}
	bundle, err := r.finish(form, in, func(*rpc.Bundle) []*incomingTx { return r.txs })
	if err != nil {
		return nil, err
	}
	options, err := readOptions(form.params.Simulation, second)
	if err != nil {
		return nil, err
	}
	return &Simulation{
		Hash: bundle.Hash, Bundle: form.exec(bundle), Environment: options.environment(in.Limits), Window: form.window,
	}, nil
}

// hasRefunds is the description's rule that a simulation says all of its refunds.
func (f *shareForm) hasRefunds() error {
	switch {
	case f.params.Validity.Refund == nil:
		return param.Missing(f.path + ".validity.refund")
	case f.params.Validity.RefundConfig == nil:
		return param.Missing(f.path + ".validity.refundConfig")
	}
	return nil
}

// ReadSimMatched reads the params of a mev_simBundle whose body begins with a hash, in literal
// mode: as ReadSendShare does, since it is simulated for the next block as if it had been sent.
// Overrides could be chosen so that they make the answer tell more, and are refused. Errors are
// *rpc.Refused.
func ReadSimMatched(params json.RawMessage, in Intake) (*rpc.Order, error) {
	var raw, second param.Later
	if err := param.Positional(params, &raw, &second); err != nil {
		return nil, err
	}
	var first bundleParams
	if err := param.Value("params[0]", raw.JSON(), &first); err != nil {
		return nil, err
	}
	options, err := readOptions(first.Simulation, second)
	if err != nil {
		return nil, err
	}
	if !options.Parent.Set || options.Parent.Latest {
		options.Parent = param.Block{}
	}
	if options != (simulationParams{}) {
		return nil, rpc.InvalidParams.With("simOptions: a bundle that follows a hash is simulated for the next block as " +
			"it is: leave them out, but for parentBlock latest")
	}
	return readShare(raw, true, in)
}

// simWindow is the rule for the blocks of a mev_simBundle, which may be over.
func simWindow(path string, first, last uint64) (rpc.Window, error) {
	if last < first {
		return rpc.Window{}, rpc.InvalidInclusion.With("%s: maxBlock %d is below block %d", path, last, first)
	}
	return rpc.Window{FirstBlock: first, LastBlock: last}, nil
}

// exec is the bundle for the simulator, with the transactions as they were decoded.
func (f *shareForm) exec(terms *rpc.Bundle) *exec.Bundle {
	b := execTerms(terms)
	for i, e := range f.elements {
		if e.bundle != nil {
			b.Elements = append(b.Elements, exec.Element{Bundle: e.bundle.exec(terms.Elements[i].Bundle)})
			continue
		}
		b.Elements = append(b.Elements, exec.Element{Tx: e.tx.exec()})
	}
	return b
}

// environment is the block to simulate. A timeout up to 30 is in seconds, above in milliseconds:
// descriptions and servers differ. In literal mode it is in seconds, and the base fee is the
// parent's.
func (p simulationParams) environment(limits Config) exec.Environment {
	const secondsUpTo = 30
	env := blockParams{
		parent: p.Parent, number: p.BlockNumber, timestamp: p.Timestamp, coinbase: p.Coinbase,
		gasLimit: p.GasLimit, baseFee: p.BaseFee,
	}.environment()
	env.ParentBaseFee = limits.Literal
	timeoutMs := p.Timeout.Value
	if timeoutMs <= secondsUpTo || limits.Literal {
		timeoutMs = min(timeoutMs, uint64(limits.MaxTimeout/time.Second)+1)
		timeoutMs *= uint64(time.Second / time.Millisecond)
	}
	env.Timeout = milliseconds(timeoutMs, limits.MaxTimeout)
	return env
}
