package remote

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// described is the answer to eth_config (EIP-7910), of which only this is needed.
type described struct {
	Current *struct {
		BlobSchedule *params.BlobConfig        `json:"blobSchedule"`
		Precompiles  map[string]common.Address `json:"precompiles"`
	} `json:"current"`
}

// chainConfig is the schedule of a public network, by its id. Of any other one it is what the newest block and eth_config show to be in force now,
// as if it had been so from the beginning: a fork that comes later is not known, and the service has to be restarted then, or told the schedule.
func (n *Node) chainConfig(ctx context.Context) (*params.ChainConfig, error) {
	var id hexutil.Big
	var head *types.Header
	var now described
	err := n.ask(ctx, func(ctx context.Context, client *rpc.Client) error {
		if err := client.CallContext(ctx, &id, "eth_chainId"); err != nil {
			return err
		}
		return client.CallContext(ctx, &head, "eth_getBlockByNumber", "latest", false)
	})
	if err != nil {
		return nil, err
	}
	for _, public := range []*params.ChainConfig{params.MainnetChainConfig, params.SepoliaChainConfig, params.HoodiChainConfig} {
		if public.ChainID.Cmp(id.ToInt()) == 0 {
			return public, nil
		}
	}
	if head == nil {
		return nil, fmt.Errorf("chain %s has no newest block", id.ToInt())
	}
	described := n.ask(ctx, func(ctx context.Context, client *rpc.Client) error {
		return client.CallContext(ctx, &now, "eth_config")
	})
	if described != nil { // older nodes do not know the method
		n.cfg.Log.Warn("the execution node does not describe its chain; forks are guessed from its newest block", "error", described)
	}
	return inForce(id.ToInt(), head, now), nil
}

// inForce is a schedule in which all that is in force now has been from the beginning.
func inForce(id *big.Int, head *types.Header, now described) *params.ChainConfig {
	config := *params.MergedTestChainConfig
	config.ChainID = id
	config.ShanghaiTime, config.CancunTime, config.PragueTime, config.OsakaTime = nil, nil, nil, nil
	config.BPO1Time, config.BPO2Time, config.BPO3Time, config.BPO4Time, config.BPO5Time, config.AmsterdamTime = nil, nil, nil, nil, nil, nil
	begin := new(uint64)
	if head.WithdrawalsHash != nil {
		config.ShanghaiTime = begin
	}
	if head.ExcessBlobGas != nil {
		config.CancunTime = begin
	}
	if head.RequestsHash != nil {
		config.PragueTime = begin
	}
	if now.Current == nil {
		return &config
	}
	if _, has := now.Current.Precompiles["P256VERIFY"]; has {
		config.OsakaTime = begin
	}
	if blobs := now.Current.BlobSchedule; blobs != nil {
		config.BlobScheduleConfig = &params.BlobScheduleConfig{Cancun: blobs, Prague: blobs}
	}
	return &config
}
