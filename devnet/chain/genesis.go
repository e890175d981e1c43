package chain

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth"
)

// defaultGasLimit is the genesis block's, unless Config says otherwise.
const defaultGasLimit = 60_000_000

// fundedWei is what each funded account has at genesis: 1,000,000 ether.
var fundedWei = new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(params.Ether))

// DepositContract is where deposit logs come from (EIP-6110): mainnet's address, since the log's format is tied to it.
var DepositContract = common.HexToAddress("0x00000000219ab540356cBB839Cbe05303d7705Fa")

// GenesisOf is the genesis that a configuration describes.
func GenesisOf(cfg Config) (*core.Genesis, error) {
	config, err := chainConfig(cfg)
	if err != nil {
		return nil, err
	}
	gasLimit := cfg.GasLimit
	if gasLimit == 0 {
		gasLimit = defaultGasLimit
	}
	alloc := core.SystemContractAllocs() // without their code no block can be built from prague on
	for _, account := range cfg.Funded {
		alloc[account] = types.Account{Balance: new(big.Int).Set(fundedWei)}
	}
	return &core.Genesis{
		Config: config, Alloc: alloc, GasLimit: gasLimit, Difficulty: new(big.Int), BaseFee: big.NewInt(params.InitialBaseFee),
		Timestamp: cfg.Spec.Timestamp(0), ExtraData: []byte("gavel devnet"),
	}, nil
}

// chainConfig places the execution forks at the first slots of their consensus forks, and takes the blob limits from the spec, so that relay
// and chain agree.
func chainConfig(cfg Config) (*params.ChainConfig, error) {
	spec := cfg.Spec
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("make genesis: %w", err)
	}
	config := *params.MergedTestChainConfig
	config.ChainID = new(big.Int).SetUint64(cfg.ChainID)
	config.DepositContractAddress = DepositContract
	config.ShanghaiTime, config.CancunTime, config.PragueTime, config.OsakaTime = nil, nil, nil, nil
	schedule := &params.BlobScheduleConfig{}
	for i, point := range spec.Forks {
		first := spec.FirstSlot(point.Epoch)
		at := spec.Timestamp(first)
		if i == 0 {
			at = 0 // the first fork stands for everything before it, genesis included
		}
		for fork, field := range map[eth.Fork]**uint64{
			eth.Capella: &config.ShanghaiTime, eth.Deneb: &config.CancunTime, eth.Electra: &config.PragueTime, eth.Fulu: &config.OsakaTime,
		} {
			// A fork that was skipped in the schedule comes with the next one.
			if fork <= point.Fork && *field == nil {
				*field = &at
			}
		}
	}
	if config.CancunTime != nil {
		schedule.Cancun = blobConfig(6, params.DefaultCancunBlobConfig)
	}
	if config.PragueTime != nil {
		schedule.Prague = blobConfig(9, params.DefaultPragueBlobConfig)
	}
	config.BlobScheduleConfig = schedule
	return &config, scheduleBlobs(&config, spec)
}

// scheduleBlobs turns the spec's blob limits into blob-parameter-only forks, which exist from osaka on.
func scheduleBlobs(config *params.ChainConfig, spec *eth.Spec) error {
	times := []**uint64{&config.BPO1Time, &config.BPO2Time, &config.BPO3Time, &config.BPO4Time, &config.BPO5Time}
	schedule := config.BlobScheduleConfig
	configs := []**params.BlobConfig{&schedule.BPO1, &schedule.BPO2, &schedule.BPO3, &schedule.BPO4, &schedule.BPO5}
	if len(spec.Blobs) > len(times) {
		return fmt.Errorf("make genesis: %d blob limits, at most %d", len(spec.Blobs), len(times))
	}
	for i, limit := range spec.Blobs {
		if spec.ForkPointAt(limit.Epoch).Fork < eth.Fulu {
			return fmt.Errorf("make genesis: a blob limit at epoch %d, before fulu", limit.Epoch)
		}
		at := spec.Timestamp(spec.FirstSlot(limit.Epoch))
		if limit.Epoch == 0 {
			at = 0
		}
		*times[i], *configs[i] = &at, blobConfig(int(limit.MaxBlobs), params.DefaultPragueBlobConfig)
	}
	return nil
}

func blobConfig(maxBlobs int, like *params.BlobConfig) *params.BlobConfig {
	return &params.BlobConfig{Max: maxBlobs, Target: max(maxBlobs*2/3, 1), UpdateFraction: like.UpdateFraction}
}
