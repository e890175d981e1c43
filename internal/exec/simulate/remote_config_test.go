package simulate_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/params/forks"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// The schedule that is told by a node holds the same forks and the same blobs as the node's own,
// now and in the future.
func TestToldConfigIsTheNodes(t *testing.T) {
	at := func(time uint64) *uint64 { return &time }
	small, large := params.DefaultPragueBlobConfig, &params.BlobConfig{Target: 14, Max: 21, UpdateFraction: 11684671}
	for name, change := range map[string]func(*params.ChainConfig){
		"cancun":              func(c *params.ChainConfig) { c.PragueTime, c.OsakaTime = nil, nil },
		"prague":              func(c *params.ChainConfig) { c.OsakaTime = nil },
		"osaka":               func(*params.ChainConfig) {},
		"prague, osaka later": func(c *params.ChainConfig) { c.OsakaTime = at(2000) },
		"osaka, more blobs later": func(c *params.ChainConfig) {
			c.BPO1Time, c.BlobScheduleConfig.BPO1 = at(2000), large
		},
		"osaka with more blobs, and even more later": func(c *params.ChainConfig) {
			c.BPO1Time, c.BlobScheduleConfig.BPO1 = at(500), &params.BlobConfig{Target: 10, Max: 15, UpdateFraction: 8346193}
			c.BPO2Time, c.BlobScheduleConfig.BPO2 = at(2000), large
		},
		"prague, then all": func(c *params.ChainConfig) {
			c.OsakaTime, c.BPO1Time, c.BlobScheduleConfig.BPO1 = at(2000), at(3000), large
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := *params.MergedTestChainConfig
			node.ChainID = big.NewInt(77)
			node.BlobScheduleConfig = &params.BlobScheduleConfig{Cancun: params.DefaultCancunBlobConfig, Prague: small}
			change(&node)
			const now = 1000
			told := toldConfig(t, &node, now)
			if err := told.CheckConfigForkOrder(); err != nil {
				t.Fatal(err)
			}
			if told.ChainID.Cmp(node.ChainID) != 0 {
				t.Errorf("chain %s, want %s", told.ChainID, node.ChainID)
			}
			for _, time := range []uint64{now, 1999, 2000, 2999, 3000, 1 << 40} {
				if got, want := told.Rules(common.Big1, true, time), node.Rules(common.Big1, true, time); got != want {
					t.Errorf("at %d: %+v, want %+v", time, got, want)
				}
				if got, want := eip4844.MaxBlobsPerBlock(told, time), eip4844.MaxBlobsPerBlock(&node, time); got != want {
					t.Errorf("at %d: %d blobs, want %d", time, got, want)
				}
				if got, want := told.BlobConfig(told.LatestFork(time)), node.BlobConfig(node.LatestFork(time)); *got != *want {
					t.Errorf("at %d: blobs %v, want %v", time, got, want)
				}
			}
		})
	}
}

// toldConfig is what a node with a config tells by eth_config at a time, as we understand it.
func toldConfig(t *testing.T, config *params.ChainConfig, now uint64) *params.ChainConfig {
	t.Helper()
	entry := func(time *uint64) any {
		if time == nil {
			return nil
		}
		precompiles := map[string]common.Address{}
		for address, contract := range vm.ActivePrecompiledContracts(config.Rules(common.Big0, true, *time)) {
			precompiles[contract.Name()] = address
		}
		return map[string]any{
			"activationTime": *time, "chainId": fmt.Sprintf("%#x", config.ChainID), "precompiles": precompiles,
			"forkId":       "0x00000000",
			"blobSchedule": config.BlobConfig(config.LatestFork(*time)), "systemContracts": config.ActiveSystemContracts(*time),
		}
	}
	var next, last *uint64
	current, newest := config.LatestFork(now), config.LatestFork(^uint64(0))
	for fork := forks.Cancun; fork <= newest; fork++ {
		if time := config.Timestamp(fork); fork > current && time != nil && next == nil {
			next = time
		}
	}
	if next != nil {
		last = config.Timestamp(newest)
	}
	text, err := json.Marshal(map[string]any{"current": entry(config.Timestamp(current)), "next": entry(next),
		"last": entry(last)})
	must(t, err)
	return configOf(t, config.ChainID, string(text), 0)
}

// configOf asks a node that has a chain id, and answers eth_config with a result or an error code.
func configOf(t *testing.T, id *big.Int, config string, code int) *params.ChainConfig {
	t.Helper()
	node := func(r *http.Request) (*http.Response, error) {
		var c call
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			return nil, err
		}
		reply := func(name, text string) (*http.Response, error) {
			return answer(http.StatusOK, `{"jsonrpc":"2.0","id":`+string(c.ID)+`,"`+name+`":`+text+`}`), nil
		}
		switch {
		case c.Method == "eth_chainId":
			return reply("result", fmt.Sprintf(`"%#x"`, id))
		case c.Method == "eth_config" && code != 0:
			return reply("error", fmt.Sprintf(`{"code":%d,"message":"no"}`, code))
		case c.Method == "eth_config":
			return reply("result", config)
		default:
			return reply("result", changed("hash", head.Hash()))
		}
	}
	states := open(t, simulate.RemoteOptions{URLs: []string{"http://node"},
		HTTP: &http.Client{Transport: played{"node": node}}})
	st, err := states.At(t.Context(), exec.Environment{Latest: true})
	must(t, err)
	return st.Config
}

// Great networks are known; a network whose nodes cannot tell has all forks up to osaka.
func TestConfigByChainID(t *testing.T) {
	for _, known := range []*params.ChainConfig{params.MainnetChainConfig, params.SepoliaChainConfig,
		params.HoodiChainConfig} {
		if got := configOf(t, known.ChainID, `{}`, 0); got != known {
			t.Errorf("chain %s: %v", known.ChainID, got)
		}
	}
	got := configOf(t, big.NewInt(4242), "", -32601)
	if got.ChainID.Int64() != 4242 || !got.IsOsaka(common.Big1, 1) || got.IsAmsterdam(common.Big1, 1) {
		t.Errorf("a network that nobody knows: %v", got)
	}
	if params.MergedTestChainConfig.ChainID.Int64() == 4242 {
		t.Error("a config of all was changed")
	}
}
