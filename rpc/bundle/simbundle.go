package bundle

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/param"
)

// simulationParams are the overrides of mev_simBundle.
type simulationParams struct {
	Parent      param.Block     `json:"parentBlock"`
	BlockNumber param.Number    `json:"blockNumber"`
	Coinbase    *param.Address  `json:"coinbase"`
	Timestamp   param.Number    `json:"timestamp"`
	GasLimit    param.Number    `json:"gasLimit"`
	BaseFee     param.BigNumber `json:"baseFee"`
	Timeout     param.Number    `json:"timeout"`
}

// Simulation is a mev_simBundle.
type Simulation struct {
	// Hash is the bundle's, by the rule of mev_sendBundle.
	Hash        common.Hash
	Bundle      *exec.Bundle
	Environment exec.Environment
	// Window are the blocks that the bundle is for. The simulated one is none of them: that is a result, "invalid inclusion".
	Window rpc.Window
}

// ReadSimBundle reads the params of mev_simBundle: a bundle, whose blocks may lie anywhere and which may have more than one backrun, and
// overrides, in its simOptions or after it; the latter ones win, field by field. Errors are *rpc.Refused.
func ReadSimBundle(params json.RawMessage, in Intake) (*Simulation, error) {
	var raw param.Later
	var second simulationParams
	if err := param.Positional(params, &raw, &second); err != nil {
		return nil, err
	}
	r := shareReader{limits: in.Limits, maxDepth: in.Limits.MaxSimDepth, windowOf: simWindow}
	form, err := r.form("params[0]", raw, 0, nil)
	if err != nil {
		return nil, err
	}
	if form.follows() {
		return nil, rpc.UnmatchedBundle.Plain()
	}
	bundle, err := r.finish(form, in, func(*rpc.Bundle) []*signed { return r.txs })
	if err != nil {
		return nil, err
	}
	options := second.over(form.params.Simulation)
	return &Simulation{
		Hash: bundle.Hash, Bundle: form.exec(bundle), Environment: options.environment(in.Limits), Window: form.window,
	}, nil
}

// simWindow is the rule for the blocks of a mev_simBundle, which may be over.
func simWindow(path string, first, last uint64) (rpc.Window, error) {
	if first == 0 {
		return rpc.Window{}, rpc.InvalidInclusion.With("%s.block: missing", path)
	}
	if last < first {
		return rpc.Window{}, rpc.InvalidInclusion.With("%s: maxBlock %d is below block %d", path, last, first)
	}
	return rpc.Window{FirstBlock: first, LastBlock: last}, nil
}

// over are these options, and below's where these say nothing.
func (p simulationParams) over(below simulationParams) simulationParams {
	return simulationParams{
		Parent: cmp.Or(p.Parent, below.Parent), BlockNumber: cmp.Or(p.BlockNumber, below.BlockNumber), Coinbase: cmp.Or(p.Coinbase, below.Coinbase),
		Timestamp: cmp.Or(p.Timestamp, below.Timestamp), GasLimit: cmp.Or(p.GasLimit, below.GasLimit), BaseFee: cmp.Or(p.BaseFee, below.BaseFee),
		Timeout: cmp.Or(p.Timeout, below.Timeout),
	}
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

// environment is the block to simulate. A timeout up to 30 is in seconds, above in milliseconds: descriptions and servers differ.
func (p simulationParams) environment(limits Config) exec.Environment {
	const secondsUpTo = 30
	env := exec.Environment{
		Number: p.BlockNumber.Value, Timestamp: p.Timestamp.Value, Coinbase: (*common.Address)(p.Coinbase), GasLimit: p.GasLimit.Value,
		BaseFeeWei: p.BaseFee.Value,
	}
	timeoutMs := p.Timeout.Value
	if timeoutMs <= secondsUpTo {
		timeoutMs *= uint64(time.Second / time.Millisecond)
	}
	env.Timeout = milliseconds(timeoutMs, limits.MaxTimeout)
	setParent(&env, p.Parent)
	return env
}
