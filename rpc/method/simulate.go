package method

import (
	"context"
	"errors"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// simulationRefusals are the refusals that every simulation may end with.
var simulationRefusals = []rpc.Refusal{rpc.HeaderNotFound, rpc.SimulationFailed, rpc.SimulationTimeout,
	rpc.SimulationBusy, rpc.NodeUnavailable}

// simulated runs a simulation when it is the signer's turn, and records it, because the gas that
// the service executes for a signer is part of the signer's reputation. run returns the gas that
// was used, and whether everything succeeded.
func (m *Methods) simulated(ctx context.Context, call *Call, method string, run func(context.Context) (gasUsed uint64,
	success bool, err error)) error {
	fact := rpc.CallSimulated{At: call.At, Signer: call.Signer, Method: method}
	var failed error
	if err := m.Scheduler.Do(ctx, call.Signer, call.Source, func(ctx context.Context) {
		fact.GasUsed, fact.Success, failed = run(ctx)
	}); err != nil {
		return err
	}
	m.Facts.Record(fact)
	return refusalOf(failed)
}

// refusalOf converts an error of a simulation to a refusal of the catalogue.
func refusalOf(err error) error {
	wrong := (*exec.InclusionError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return rpc.SimulationFailed.With("%s; txhash %s", wrong, wrong.Tx)
	case errors.Is(err, exec.ErrUnknownBlock):
		return rpc.HeaderNotFound.Plain()
	case errors.Is(err, exec.ErrTimeout):
		return rpc.SimulationTimeout.Plain()
	case errors.Is(err, exec.ErrNode):
		return rpc.NodeUnavailable.Plain()
	}
	return err
}
