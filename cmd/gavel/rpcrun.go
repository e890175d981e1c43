package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/rpc/app"
)

// earliestOnMainnet is the first block of mainnet with detailed fee refunds (interface description,
// Limits).
const earliestOnMainnet = 20802497

// serveRPC opens the listeners first, so that a port in use is reported at once. Then it opens the
// service, and serves it until the context ends.
func serveRPC(ctx context.Context, cfg rpcConfig) error {
	log, err := run.NewLogger(os.Stderr, cfg.log)
	if err != nil {
		return run.Usage(err)
	}
	doors, err := openDoors(cfg.listen, cfg.adminListen, "")
	if err != nil {
		return err
	}
	defer doors.close()
	chain, err := chainIn(cfg.chainFile)
	if err != nil {
		return run.Usage(err)
	}
	nodes, err := simulate.NewRemote(simulate.RemoteOptions{URLs: cfg.executionURLs, Config: chain, Log: log})
	if err != nil {
		return run.Usage(err)
	}
	defer nodes.Close() //nolint:errcheck // connections that were read from
	defer logStop(ctx, log, "rpc")()
	var service app.Service
	err = doors.whileOpening(needsExecution, func(tell func(string)) error {
		if chain, err = cfg.learnChain(ctx, nodes, log); err != nil {
			return err
		}
		cfg.rpc.Chain, cfg.rpc.States, cfg.rpc.ChainConfig, cfg.rpc.Log = nodes, nodes, chain, log
		cfg.rpc.FetchAhead = func(s exec.Simulator) exec.Simulator { return simulate.Warmed{Simulator: s, States: nodes} }
		cfg.rpc.ExecutionNodes = nodes.Answers
		cfg.rpc.EarliestBlock = cfg.firstDetails(chain)
		cfg.rpc.Journal.Waiting = tell
		service, err = app.Open(ctx, cfg.rpc)
		return err
	})
	if err != nil {
		return err
	}
	log.Info("rpc serves", "address", doors.public.Addr().String(), "admin", cfg.adminListen, "chain", chain.ChainID,
		"signs_as", crypto.PubkeyToAddress(cfg.rpc.Key.PublicKey), "builders",
		len(cfg.rpc.Builders))
	return errors.Join(doors.serve(ctx, service), service.Close())
}

// needsExecution is what the start waits for first.
const needsExecution = "an execution node (--execution-rpc)"

// learnChain asks the execution nodes for the chain's forks and its first block, and waits for a
// node that is away. A node may not have the first block, so it is asked once.
func (c *rpcConfig) learnChain(ctx context.Context, nodes *simulate.RemoteStates,
	log *slog.Logger) (chain *params.ChainConfig,
	err error) {
	err = waitFor(ctx, log, c.rpc.Journal.StartTimeout, needsExecution, func() (err error) {
		chain, err = nodes.Config(ctx)
		if err == nil {
			_, err = nodes.Head(ctx) // a chain that is given in a file is not asked for
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("learn the chain's forks: %w", err)
	}
	genesis, err := nodes.BlockByNumber(ctx, 0)
	if err != nil {
		log.Warn("the execution node does not tell its first block: the journal is known by the chain's id only",
			"error", err)
		return chain, nil
	}
	c.rpc.Genesis = genesis.Hash()
	return chain, nil
}

// firstDetails returns the first block with detailed fee refunds: the one of the flag, or else the
// one of the network.
func (c *rpcConfig) firstDetails(chain *params.ChainConfig) uint64 {
	switch {
	case c.earliestBlock != nil:
		return *c.earliestBlock
	case chain.ChainID.Cmp(params.MainnetChainConfig.ChainID) == 0:
		return earliestOnMainnet
	}
	return 0
}

// chainIn reads the fork schedule of a genesis file. It returns nil if there is no file.
func chainIn(path string) (*params.ChainConfig, error) {
	if path == "" {
		return nil, nil // the execution nodes are asked in this case
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("chain-file: %w", err)
	}
	var genesis core.Genesis
	if err := json.Unmarshal(text, &genesis); err != nil {
		return nil, fmt.Errorf("chain-file %s: %w", path, err)
	}
	if genesis.Config == nil || genesis.Config.ChainID == nil {
		return nil, fmt.Errorf("chain-file %s has no config with a chainId: give a genesis file", path)
	}
	return genesis.Config, nil
}
