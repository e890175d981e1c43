package bundle

import (
	"cmp"

	"github.com/gavel-relay/gavel/rpc"
)

// simulationParams are the overrides of mev_simBundle. Two of them have two spellings.
type simulationParams struct {
	Parent      Block     `json:"parentBlock"`
	BlockNumber Number    `json:"blockNumber"`
	Number      Number    `json:"number"`
	Coinbase    *Address  `json:"coinbase"`
	Timestamp   Number    `json:"timestamp"`
	Time        Number    `json:"time"`
	GasLimit    Number    `json:"gasLimit"`
	BaseFee     BigNumber `json:"baseFee"`
	Timeout     Number    `json:"timeout"`
}

// readSimulation reads overrides at path. It refuses two spellings of one override with different
// values.
func readSimulation(path string, raw RawValue) (p simulationParams, err error) {
	if !raw.Set() {
		return p, nil
	}
	if err := ReadParam(path, raw.JSON(), &p); err != nil {
		return p, err
	}
	for _, spelling := range []struct {
		names     string
		one, same Number
	}{{"blockNumber and number", p.BlockNumber, p.Number}, {"timestamp and time", p.Timestamp, p.Time}} {
		if spelling.one.Set && spelling.same.Set && spelling.one != spelling.same {
			return p, rpc.InvalidParams.With("%s: %s differ, and mean the same", path, spelling.names)
		}
	}
	p.BlockNumber, p.Timestamp = cmp.Or(p.BlockNumber, p.Number), cmp.Or(p.Timestamp, p.Time)
	p.Number, p.Time = Number{}, Number{}
	return p, nil
}

// mergeOver returns these options; fields that are not set are taken from below.
func (p simulationParams) mergeOver(below simulationParams) simulationParams {
	return simulationParams{
		Parent: cmp.Or(p.Parent, below.Parent), BlockNumber: cmp.Or(p.BlockNumber, below.BlockNumber),
		Coinbase:  cmp.Or(p.Coinbase, below.Coinbase),
		Timestamp: cmp.Or(p.Timestamp, below.Timestamp), GasLimit: cmp.Or(p.GasLimit, below.GasLimit),
		BaseFee: cmp.Or(p.BaseFee, below.BaseFee),
		Timeout: cmp.Or(p.Timeout, below.Timeout),
	}
}

// readOptions returns the overrides in a bundle and those after it; the latter take precedence.
func readOptions(inside, after RawValue) (simulationParams, error) {
	below, err := readSimulation("params[0].simOptions", inside)
	if err != nil {
		return below, err
	}
	above, err := readSimulation("params[1]", after)
	return above.mergeOver(below), err
}
