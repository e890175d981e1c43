package chain

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth"
)

// defaultGasLimit is the genesis block's, unless Config says otherwise.
const defaultGasLimit = 60_000_000

// fundedWei is what each funded account has at genesis: 1,000,000 ether.
var fundedWei = new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(params.Ether))

// GenesisOf returns the genesis that a configuration describes.
func GenesisOf(cfg Config) (*core.Genesis, error) {
	config, err := chainConfig(cfg)
	if err != nil {
		return nil, err
	}
	gasLimit := cfg.GasLimit
	if gasLimit == 0 {
		gasLimit = defaultGasLimit
	}
	alloc := core.SystemContractAllocs() // without the code of these contracts no block can be built from prague on
	alloc[DepositContract] = types.Account{Nonce: 1, Code: depositCode, Balance: new(big.Int)}
	maps.Copy(alloc, cfg.Accounts)
	for _, account := range cfg.Funded {
		alloc[account] = types.Account{Balance: new(big.Int).Set(fundedWei)}
	}
	return &core.Genesis{
		Config: config, Alloc: alloc, GasLimit: gasLimit, Difficulty: new(big.Int),
		BaseFee:   big.NewInt(params.InitialBaseFee),
		Timestamp: cfg.Spec.Timestamp(0), ExtraData: []byte("gavel devnet"),
	}, nil
}

// chainConfig places the execution forks at the first slots of their consensus forks, and takes the
// blob limits from the spec, so that relay and chain agree.
func chainConfig(cfg Config) (*params.ChainConfig, error) {
	spec := cfg.Spec
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("make genesis: %w", err)
	}
	config := *params.MergedTestChainConfig
	config.ChainID = new(big.Int).SetUint64(cfg.ChainID)
	config.DepositContractAddress = DepositContract
	config.ShanghaiTime, config.CancunTime, config.PragueTime, config.OsakaTime = nil, nil, nil, nil
	config.AmsterdamTime = nil
	for i, point := range spec.Forks {
		first := spec.FirstSlot(point.Epoch)
		at := spec.Timestamp(first)
		if i == 0 {
			at = 0 // the first fork includes all before it, and is active at genesis
		}
		if _, err := beginnings.Of(point.Fork, "execution fork"); err != nil {
			return nil, fmt.Errorf("make genesis: %w", err)
		}
		for fork, begin := range beginnings {
			// A fork that the schedule skips begins together with the next one.
			if field := begin(&config); field != nil && point.Fork.Includes(fork) && *field == nil {
				*field = &at
			}
		}
	}
	if err := scheduleBlobs(&config, spec); err != nil {
		return nil, fmt.Errorf("make genesis: %w", err)
	}
	return &config, nil
}

// beginnings returns, for each fork, the field of a chain's configuration that says when the
// execution fork begins. The first fork has none: it is active from genesis on.
var beginnings = eth.Column[func(*params.ChainConfig) **uint64]{
	eth.Bellatrix: func(*params.ChainConfig) **uint64 { return nil },
	eth.Capella:   func(c *params.ChainConfig) **uint64 { return &c.ShanghaiTime },
	eth.Deneb:     func(c *params.ChainConfig) **uint64 { return &c.CancunTime },
	eth.Electra:   func(c *params.ChainConfig) **uint64 { return &c.PragueTime },
	eth.Fulu:      func(c *params.ChainConfig) **uint64 { return &c.OsakaTime },
	eth.Gloas:     func(c *params.ChainConfig) **uint64 { return &c.AmsterdamTime },
}

// scheduleBlobs gives deneb and electra the blob limits that the spec has when they begin. Limits
// from fulu on become blob-parameter-only forks.
func scheduleBlobs(config *params.ChainConfig, spec *eth.Spec) error {
	schedule := &params.BlobScheduleConfig{}
	config.BlobScheduleConfig = schedule
	begins := map[phase0.Epoch]bool{}
	for _, point := range slices.Backward(spec.Forks) { // a fork that the schedule skips has the limit of the next one
		limit := int(spec.MaxBlobs(spec.FirstSlot(point.Epoch)))
		if point.Fork.HasBlobs() {
			schedule.Cancun = blobConfig(limit, params.DefaultCancunBlobConfig)
		}
		if point.Fork.HasRequests() {
			schedule.Prague = blobConfig(limit, params.DefaultPragueBlobConfig)
		}
		begins[point.Epoch] = true
	}
	times := []**uint64{&config.BPO1Time, &config.BPO2Time, &config.BPO3Time, &config.BPO4Time, &config.BPO5Time}
	configs := []**params.BlobConfig{&schedule.BPO1, &schedule.BPO2, &schedule.BPO3, &schedule.BPO4, &schedule.BPO5}
	used := 0
	for _, limit := range spec.Blobs {
		switch fork := spec.ForkPointAt(limit.Epoch).Fork; {
		case !fork.HasBlobSchedule() && fork.HasBlobs() && !begins[limit.Epoch]:
			return fmt.Errorf("the blob limit changes at epoch %d, inside %s: before fulu only a fork can change it",
				limit.Epoch, fork)
		case !fork.HasBlobSchedule():
			continue // it is the limit of a fork that begins in that epoch or later
		case fork.HasAccessLists():
			used = max(used, limitsBeforeGloas) // the others come before that fork by definition
		case spec.Forks[len(spec.Forks)-1].Fork.HasAccessLists() && used == limitsBeforeGloas:
			return fmt.Errorf("more than %d blob limits from fulu to gloas", limitsBeforeGloas)
		}
		if used == len(times) {
			return fmt.Errorf("more than %d blob limits from fulu on", len(times))
		}
		at := spec.Timestamp(spec.FirstSlot(limit.Epoch))
		if limit.Epoch == 0 {
			at = 0
		}
		*times[used], *configs[used] = &at, blobConfig(int(limit.MaxBlobs), params.DefaultPragueBlobConfig)
		used++
	}
	return nil
}

// limitsBeforeGloas is how many of go-ethereum's blob-parameter-only forks come before amsterdam.
const limitsBeforeGloas = 2

// blobConfig returns the usual configuration if it has the given limit. For another limit, the
// target is two thirds of the limit, and the blob fee changes as fast as usual.
func blobConfig(maxBlobs int, usual *params.BlobConfig) *params.BlobConfig {
	if maxBlobs == usual.Max {
		return usual
	}
	return &params.BlobConfig{Max: maxBlobs, Target: max(maxBlobs*2/3, 1), UpdateFraction: usual.UpdateFraction}
}
