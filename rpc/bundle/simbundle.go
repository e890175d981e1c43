package bundle

import (
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// Simulation is a decoded mev_simBundle request.
type Simulation struct {
	// Hash is the bundle's, by the rule of mev_sendBundle.
	Hash        common.Hash
	Bundle      *exec.Bundle
	Environment exec.Environment
	// Window is the window of the bundle. If the simulated block is not in it, that is a result,
	// "invalid inclusion", and not an error.
	Window rpc.Window
}

// ReadSimBundle reads the params of mev_simBundle: a bundle and overrides. The bundle's blocks may
// be anywhere, and it may have more than one backrun. Overrides are in its simOptions or in the
// second parameter, which takes precedence, field by field. Errors are *rpc.Refused.
func ReadSimBundle(params json.RawMessage, in Intake) (*Simulation, error) {
	var raw, second RawValue
	if err := ReadPositional(params, &raw, &second); err != nil {
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

// hasRefunds applies the interface description's rule that a simulation has both fields for
// refunds.
func (f *shareForm) hasRefunds() error {
	switch {
	case f.params.Validity.Refund == nil:
		return MissingParam(f.path + ".validity.refund")
	case f.params.Validity.RefundConfig == nil:
		return MissingParam(f.path + ".validity.refundConfig")
	}
	return nil
}

// ReadSimMatched reads the params of a mev_simBundle whose body begins with a hash, in literal
// mode. It reads them as ReadSendShare does, because the bundle is simulated for the next block as
// if it was sent. It refuses overrides, because with chosen overrides the answer would reveal more.
// Errors are *rpc.Refused.
func ReadSimMatched(params json.RawMessage, in Intake) (*rpc.Order, error) {
	var raw, second RawValue
	if err := ReadPositional(params, &raw, &second); err != nil {
		return nil, err
	}
	var first bundleParams
	if err := ReadParam("params[0]", raw.JSON(), &first); err != nil {
		return nil, err
	}
	options, err := readOptions(first.Simulation, second)
	if err != nil {
		return nil, err
	}
	if !options.Parent.Set || options.Parent.Latest {
		options.Parent = Block{}
	}
	if options != (simulationParams{}) {
		return nil, rpc.InvalidParams.With("simOptions: a bundle that follows a hash is simulated for the next block as " +
			"it is: leave them out, but for parentBlock latest")
	}
	return readShare(raw, true, in)
}

// simWindow is the rule for the blocks of a mev_simBundle, which may be in the past.
func simWindow(path string, first, last uint64) (rpc.Window, error) {
	if last < first {
		return rpc.Window{}, rpc.InvalidInclusion.With("%s: maxBlock %d is below block %d", path, last, first)
	}
	return rpc.Window{FirstBlock: first, LastBlock: last}, nil
}

// exec is the bundle in the simulator's form, with the transactions that were decoded.
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

// environment is the block to simulate. A timeout up to 30 is in seconds, a greater one in
// milliseconds, because descriptions and servers differ. In literal mode it is in seconds, and the
// base fee is the parent's.
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
