package chain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"
)

// Node is a running execution node. It is safe for concurrent use.
type Node struct {
	cfg     Config
	stack   *node.Node
	backend *eth.Ethereum
	engine  *catalyst.ConsensusAPI
	genesis *types.Block
}

// Open starts the node at the head that its folder has; if the folder has no chain, it makes the
// genesis block.
func Open(cfg Config) (n *Node, err error) {
	genesis, err := GenesisOf(cfg)
	if err != nil {
		return nil, err
	}
	stackConfig := &node.Config{
		Name: "gavel", DataDir: cfg.DataDir, P2P: p2p.Config{NoDiscovery: true, NoDial: true, MaxPeers: 0, ListenAddr: ""},
	}
	if cfg.RPCAddr != "" {
		host, port, err := net.SplitHostPort(cfg.RPCAddr)
		if err != nil {
			return nil, fmt.Errorf("execution RPC address: %w", err)
		}
		if stackConfig.HTTPPort, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("execution RPC address: %w", err)
		}
		modules, everybody := []string{"eth", "net", "web3", "txpool"}, []string{"*"} // web pages may use the RPC too
		stackConfig.HTTPHost, stackConfig.HTTPModules, stackConfig.HTTPCors, stackConfig.HTTPVirtualHosts = host, modules,
			everybody, everybody
		stackConfig.WSHost, stackConfig.WSPort, stackConfig.WSModules, stackConfig.WSOrigins = host, stackConfig.HTTPPort,
			modules, everybody
	}
	stack, err := node.New(stackConfig)
	if err != nil {
		return nil, fmt.Errorf("make node: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, stack.Close())
		}
	}()
	backend, err := eth.New(stack, backendConfig(cfg, genesis))
	if err != nil {
		return nil, fmt.Errorf("make node: %w", err)
	}
	// The backend does not offer filters and subscriptions by itself.
	logs := filters.NewFilterSystem(backend.APIBackend, filters.Config{})
	stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(logs)}})
	if err := stack.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	backend.SetSynced() // there are no peers to sync from, so the pool can take transactions at once
	n = &Node{
		cfg: cfg, stack: stack, backend: backend, engine: catalyst.NewConsensusAPI(backend),
		genesis: backend.BlockChain().Genesis(),
	}
	return n, n.SetHead(context.Background(), headOf(backend))
}

// backendConfig configures a full node whose pool takes many transactions from few senders. It
// keeps all blocks. Unless KeepStates is set, it keeps only the states after the last 128 blocks,
// which is enough because balances are asked for soon.
func backendConfig(cfg Config, genesis *core.Genesis) *ethconfig.Config {
	c := ethconfig.Defaults
	c.Genesis, c.NetworkId, c.SyncMode = genesis, cfg.ChainID, ethconfig.FullSync
	c.NoPrefetch, c.LogNoHistory = true, true
	c.DatabaseCache, c.TrieCleanCache, c.TrieDirtyCache, c.SnapshotCache = 64, 32, 64, 32
	if cfg.KeepStates {
		c.NoPruning, c.StateScheme = true, rawdb.HashScheme // the path scheme would first have to index its history
	}
	c.Miner.GasCeil = genesis.GasLimit
	c.TxPool.NoLocals, c.TxPool.Journal = true, ""
	c.TxPool.PriceLimit = 1
	c.TxPool.AccountSlots, c.TxPool.GlobalSlots = 4096, 65536
	c.TxPool.AccountQueue, c.TxPool.GlobalQueue = 4096, 65536
	c.BlobPool.Datadir = "" // in memory, or below DataDir
	return &c
}

// Close stops the node. If it has a folder, the chain stays there.
func (n *Node) Close() error { return n.stack.Close() }

// Chain returns the blockchain itself, for validation and for reading.
func (n *Node) Chain() *core.BlockChain { return n.backend.BlockChain() }

// Genesis returns block 0.
func (n *Node) Genesis() *types.Block { return n.genesis }

// Attach returns a JSON-RPC client in this process.
func (n *Node) Attach() *rpc.Client { return n.stack.Attach() }

// RPCURL returns the address of the JSON-RPC, empty if it does not run.
func (n *Node) RPCURL() string {
	if n.cfg.RPCAddr == "" {
		return ""
	}
	return n.stack.HTTPEndpoint()
}
