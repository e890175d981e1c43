package app

import (
	"context"
	"crypto/ecdsa"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/devnet/network"
)

const (
	// maxReplaySenders bounds the accounts of a file's senders, each of which is in the genesis block.
	maxReplaySenders = 100_000
	// replayedInBlock bounds the transactions of a builder's block: transfers fill one before that.
	replayedInBlock = int(network.GasLimit/params.TxGas) + 1
)

// openNetwork opens the network, with accounts for the senders of a file if there is one.
func (l *lab) openNetwork() (err error) {
	if l.flow == nil {
		l.network, err = openNetwork(l.cfg, nil, l.log)
		return err
	}
	// Nothing costs less in a later fork.
	last := l.cfg.Forks[len(l.cfg.Forks)-1].Fork
	rules := mempool.Rules{
		TransferGas: chain.TransferGas(last), MaxSenders: maxReplaySenders,
		ByteGas: params.TxCostFloorPerToken * params.TxTokenPerNonZeroByte,
	}
	if last.HasAccessLists() {
		rules.ByteGas = params.TxCostFloorPerToken7976 * params.TxTokenPerNonZeroByte
	}
	plan := l.flow.Decide(rules)
	wallets, accounts := make([]*ecdsa.PrivateKey, plan.Senders), make([]common.Address, plan.Senders)
	for i := range wallets {
		wallets[i] = network.Wallet(l.cfg.Seed, "mempool", i)
		accounts[i] = network.Address(wallets[i])
	}
	if l.network, err = openNetwork(l.cfg, accounts, l.log); err != nil {
		return err
	}
	l.replay = user.NewReplay(user.ReplayConfig{
		Plan: plan, Wallets: wallets, ChainID: network.ChainID, Begin: l.network.Spec.SlotStart(0),
		Clock: l.network.Clock, RPC: l.network.Chain.Attach(),
	})
	return nil
}

// countReplayed says in the summary what became of the transactions of a file. The agents have
// stopped, and the chain has not.
func (l *lab) countReplayed(ctx context.Context, sum *display.Summary) error {
	if l.replay == nil {
		return nil
	}
	outcome, err := l.replay.Outcome(context.WithoutCancel(ctx)) // also of a run that was stopped
	if err != nil {
		return err
	}
	sum.Replayed = outcome.Lines()
	return nil
}
