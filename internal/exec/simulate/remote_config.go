package simulate

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// Config is the chain's fork schedule.
func (s *RemoteStates) Config(ctx context.Context) (*params.ChainConfig, error) {
	return s.chainConfig(ctx)
}

// chainConfig is the fork schedule: the given one, or the one that is found out at the first call.
// It is kept until the process ends; a fork that nodes learn of later is known after a restart
// only.
func (s *RemoteStates) chainConfig(ctx context.Context) (*params.ChainConfig, error) {
	if known := s.knownConfig(); known != nil {
		return known, nil
	}
	return shared(ctx, &s.asking, s.patience(), "config", func(ctx context.Context) (*params.ChainConfig, error) {
		if known := s.knownConfig(); known != nil { // found out since the look above
			return known, nil
		}
		var found *params.ChainConfig
		err := s.nodes.ask(ctx, "get chain config", func(ctx context.Context, _ *node, client *rpc.Client) (err error) {
			found, err = askConfig(ctx, client)
			return err
		})
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.config = found
		return found, nil
	})
}

func (s *RemoteStates) knownConfig() *params.ChainConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// askConfig asks a node for its chain id and, if the chain is not a known one, for the chain's fork
// schedule.
func askConfig(ctx context.Context, client *rpc.Client) (*params.ChainConfig, error) {
	var id *hexutil.Big
	if err := client.CallContext(ctx, &id, "eth_chainId"); err != nil {
		return nil, err
	}
	if id == nil || id.ToInt().Sign() < 0 {
		return nil, impossible("no chain id")
	}
	for _, known := range []*params.ChainConfig{params.MainnetChainConfig, params.SepoliaChainConfig,
		params.HoodiChainConfig} {
		if known.ChainID.Cmp(id.ToInt()) == 0 {
			return known, nil
		}
	}
	var told schedule
	switch err := client.CallContext(ctx, &told, "eth_config"); {
	case err == nil && told.Current != nil:
		return told.config(id.ToInt())
	case err == nil || isRefused(err, codeNoMethod, codeUnsupported):
		return merged(id.ToInt()), nil
	default:
		return nil, err
	}
}

// merged is the schedule of a chain that began with all forks up to osaka.
func merged(id *big.Int) *params.ChainConfig {
	config := *params.MergedTestChainConfig
	config.ChainID = id
	return &config
}

// schedule is an answer to eth_config (EIP-7910): the rules that hold now, the next ones, and the
// last ones that are known.
type schedule struct {
	Current, Next, Last *rules
}

// rules are the rules that hold from ActivationTime on (seconds since 1970).
type rules struct {
	ActivationTime  uint64             `json:"activationTime"`
	BlobSchedule    *params.BlobConfig `json:"blobSchedule"`
	Precompiles     map[string]any     `json:"precompiles"`
	SystemContracts map[string]any     `json:"systemContracts"`
}

// The forks that can be recognised by what they add.
const (
	shanghai = iota
	cancun
	prague
	osaka
	amsterdam
)

// fork is the newest fork whose precompile or system contract the rules have.
func (r *rules) fork() int {
	has := func(in map[string]any, name string) bool { _, ok := in[name]; return ok }
	switch {
	case has(r.SystemContracts, "BUILDER_DEPOSIT_CONTRACT_ADDRESS"):
		return amsterdam
	case has(r.Precompiles, "P256VERIFY"):
		return osaka
	case has(r.Precompiles, "BLS12_G1ADD"), has(r.SystemContracts, "HISTORY_STORAGE_ADDRESS"):
		return prague
	case has(r.Precompiles, "KZG_POINT_EVALUATION"), has(r.SystemContracts, "BEACON_ROOTS_ADDRESS"):
		return cancun
	default:
		return shanghai
	}
}

// config makes a fork schedule. Forks before the current rules count as active from the beginning,
// because no simulation goes back that far. If later rules change the blob limits without being
// cancun or prague, the change counts as a blob-parameter-only fork.
func (s schedule) config(id *big.Int) (*params.ChainConfig, error) {
	config, now := merged(id), s.Current.fork()
	config.CancunTime, config.PragueTime, config.OsakaTime = nil, nil, nil
	blobs := &params.BlobScheduleConfig{Cancun: s.Current.BlobSchedule, Prague: s.Current.BlobSchedule}
	config.BlobScheduleConfig = blobs
	if now >= cancun && s.Current.BlobSchedule == nil {
		return nil, impossible("its config has no blob schedule")
	}
	times := []**uint64{&config.ShanghaiTime, &config.CancunTime, &config.PragueTime, &config.OsakaTime,
		&config.AmsterdamTime}
	for _, time := range times[:now+1] {
		*time = new(uint64)
	}
	changes := []struct {
		time **uint64
		to   **params.BlobConfig
	}{{&config.BPO1Time, &blobs.BPO1}, {&config.BPO2Time, &blobs.BPO2}}
	since, holding := s.Current.ActivationTime, s.Current.BlobSchedule
	for _, later := range []*rules{s.Next, s.Last} {
		if later == nil || later.ActivationTime <= since {
			continue // Last may be the same as Next
		}
		since = later.ActivationTime
		fork := max(later.fork(), now)
		for _, time := range times[now+1 : fork+1] {
			*time = &later.ActivationTime
		}
		now = fork
		switch told := later.BlobSchedule; {
		case told == nil:
		case fork == cancun:
			blobs.Cancun, blobs.Prague = told, told
		case fork == prague:
			blobs.Prague = told
		case holding == nil || *told != *holding:
			*changes[0].time, *changes[0].to = &later.ActivationTime, told
			changes = changes[1:]
		}
		holding = later.BlobSchedule
	}
	return config, nil
}

// checkForks checks that a header has the fields that the EVM reads.
func checkForks(config *params.ChainConfig, header *types.Header) error {
	lacks := func(what string) error {
		return impossible("block %d (%s) has no %s, which the chain's forks want", header.Number, header.Hash(), what)
	}
	switch cancun := config.IsCancun(header.Number, header.Time); {
	case config.IsLondon(header.Number) && header.BaseFee == nil:
		return lacks("base fee")
	case cancun && header.ExcessBlobGas == nil, cancun && header.BlobGasUsed == nil:
		return lacks("blob gas")
	case header.BaseFee != nil && header.BaseFee.BitLen() > 256, header.Difficulty.BitLen() > 256:
		return fmt.Errorf("block %d: %w", header.Number, impossible("a number of more than 256 bits"))
	}
	return nil
}
