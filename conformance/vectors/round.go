package vectors

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
)

// What all vectors have in common. No public network has these versions, this root and this chain
// id, so that a signature of a vector is worth nothing elsewhere.
const (
	chainID        = 0x766563 // "vec"
	gasLimit       = 60_000_000
	genesisSeconds = 1_700_000_000
	slotSeconds    = 12
	slotsPerEpoch  = 32
	roundSlot      = phase0.Slot(10)
	validatorIndex = phase0.ValidatorIndex(3)
	transferGas    = params.TxGas
)

var (
	genesisForkVersion    = phase0.Version{0x01, 'v', 'e', 'c'}
	genesisValidatorsRoot = phase0.Root{'g', 'a', 'v', 'e', 'l', ' ', 'v', 'e', 'c', 't', 'o', 'r', 's'}
	parentBeaconRoot      = phase0.Root{0x7b}
	prevRandao            = [32]byte{0x5a}
)

// forkVersion is part of the signatures of a fork's blocks.
func forkVersion(fork eth.Fork) phase0.Version { return phase0.Version{byte(fork) + 1, 'v', 'e', 'c'} }

// round is one slot on a chain of one fork, with a good block for it. The chain has nothing but its
// genesis, which is the parent.
type round struct {
	fork  eth.Fork
	spec  *eth.Spec
	chain *chain.Node
	seed  uint64

	builder, proposer, relay *probe.BLSKey
	// payee is the fee recipient that the proposer has registered.
	payee common.Address
	// coinbase builds the block and pays the payee; user sends transactions.
	coinbase, user *ecdsa.PrivateKey
	withdrawals    []*capella.Withdrawal
}

// blsKey derives a key of a role from the seed.
func blsKey(seed uint64, role string) *probe.BLSKey {
	return probe.DeriveBLSKey(fmt.Sprintf("vectors %d %s", seed, role))
}

// wallet derives an account's key from the seed.
func wallet(seed uint64, role string) *ecdsa.PrivateKey {
	return network.Wallet(seed, "vectors "+role, 0)
}

func openRound(_ context.Context, seed uint64, fork eth.Fork) (*round, error) {
	r := &round{
		fork: fork, seed: seed, builder: blsKey(seed, "builder"), proposer: blsKey(seed, "proposer"),
		relay: blsKey(seed, "relay"), payee: network.Address(wallet(seed, "payee")), coinbase: wallet(seed, "builder"),
		user: wallet(seed, "user"),
	}
	r.spec = &eth.Spec{
		GenesisTime: time.Unix(genesisSeconds, 0), GenesisForkVersion: genesisForkVersion,
		GenesisValidatorsRoot: genesisValidatorsRoot, SlotDuration: slotSeconds * time.Second, SlotsPerEpoch: slotsPerEpoch,
		Forks: []eth.ForkPoint{{Fork: fork, Version: forkVersion(fork)}},
	}
	if fork.HasWithdrawals() {
		for i := range 2 {
			r.withdrawals = append(r.withdrawals, &capella.Withdrawal{
				Index: capella.WithdrawalIndex(i + 1), ValidatorIndex: phase0.ValidatorIndex(i + 7),
				Address: bellatrix.ExecutionAddress{0xa0, byte(i)}, Amount: phase0.Gwei(i + 3),
			})
		}
	}
	var err error
	if r.chain, err = chain.Open(r.config()); err != nil {
		return nil, fmt.Errorf("open a chain: %w", err)
	}
	return r, nil
}

func (r *round) config() chain.Config {
	return chain.Config{
		Spec: r.spec, ChainID: chainID, GasLimit: gasLimit,
		Funded: []common.Address{network.Address(r.coinbase), network.Address(r.user)},
	}
}

// writeGenesis writes the chain's genesis in geth's form, so that others can execute the blocks.
func writeGenesis(out *folder, r *round) error {
	genesis, err := chain.GenesisOf(r.config())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(genesis)
	if err != nil {
		return fmt.Errorf("encode the genesis: %w", err)
	}
	_, err = out.write(r.genesisFile(), "", raw)
	return err
}

func (r *round) genesisFile() string { return "chain/" + r.fork.String() + "/genesis.json" }

// build makes a good block with two transfers, and some blobs if asked.
func (r *round) build(ctx context.Context, blobs int) (*chain.Built, error) {
	args, err := r.args(blobs)
	if err != nil {
		return nil, err
	}
	return r.chain.Build(ctx, args)
}

func (r *round) args(blobs int) (chain.BuildArgs, error) {
	txs, err := r.transfers(2)
	if err != nil {
		return chain.BuildArgs{}, err
	}
	if blobs > 0 {
		tx, err := r.blobs(uint64(len(txs)), blobs)
		if err != nil {
			return chain.BuildArgs{}, err
		}
		txs = append(txs, tx)
	}
	return chain.BuildArgs{
		Parent: phase0.Hash32(r.chain.Genesis().Hash()), Slot: roundSlot, PrevRandao: prevRandao,
		ParentBeaconRoot: parentBeaconRoot, Withdrawals: r.withdrawals, Coinbase: network.Address(r.coinbase),
		GasLimitTarget: gasLimit, ExtraData: []byte("gavel vectors"), Transactions: txs,
		Payment: &chain.Payment{From: r.coinbase, To: r.payee},
	}, nil
}

// transfers makes transfers of the user, from nonce 0 on.
func (r *round) transfers(count int) ([]*types.Transaction, error) {
	list := make([]*types.Transaction, count)
	for i := range list {
		var err error
		if list[i], err = transfer(r.user, uint64(i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// transfer makes a transfer of one wei, with a tip.
func transfer(from *ecdsa.PrivateKey, nonce uint64) (*types.Transaction, error) {
	tx, err := types.SignNewTx(from, types.LatestSignerForChainID(big.NewInt(chainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei), Gas: transferGas, To: &common.Address{0x01}, Value: big.NewInt(1),
	})
	if err != nil {
		return nil, fmt.Errorf("sign a transfer: %w", err)
	}
	return tx, nil
}

// blobs makes a transaction with blobs.
func (r *round) blobs(nonce uint64, count int) (*types.Transaction, error) {
	places := make([]int, count)
	for i := range places {
		places[i] = i
	}
	sidecar := chain.Sidecar(r.fork, places...)
	tx, err := types.SignNewTx(r.user, types.LatestSignerForChainID(big.NewInt(chainID)), &types.BlobTx{
		ChainID: uint256.NewInt(chainID), Nonce: nonce, GasTipCap: uint256.NewInt(params.GWei),
		GasFeeCap: uint256.NewInt(100 * params.GWei), Gas: transferGas, To: common.Address{0xb1, 0x0b},
		BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
	if err != nil {
		return nil, fmt.Errorf("sign a transaction with blobs: %w", err)
	}
	return tx, nil
}

// submission makes the builder's submission of a block, not yet signed.
func (r *round) submission(b *chain.Built) *builderfulu.SubmitBlockRequest {
	p := b.Payload
	s := &builderfulu.SubmitBlockRequest{
		Message: &builderv1.BidTrace{
			Slot: uint64(roundSlot), ParentHash: p.ParentHash, BlockHash: p.BlockHash, BuilderPubkey: r.builder.Public,
			ProposerPubkey: r.proposer.Public, ProposerFeeRecipient: bellatrix.ExecutionAddress(r.payee),
			GasLimit: p.GasLimit, GasUsed: p.GasUsed, Value: b.PaidWei,
		},
		ExecutionPayload: p, ExecutionRequests: b.Requests,
	}
	if b.Blobs != nil {
		s.BlobsBundle = &builderfulu.BlobsBundle{Commitments: b.Blobs.Commitments, Proofs: b.Blobs.Proofs,
			Blobs: b.Blobs.Blobs}
	}
	return s
}

// builderDomain is the domain of bids, submissions and registrations (builder-specs,
// DOMAIN_APPLICATION_BUILDER): the genesis version with an empty root.
func builderDomain() phase0.Domain {
	return probe.Domain(probe.DomainBuilder, genesisForkVersion, phase0.Root{})
}

// proposerDomain is the domain of a fork's blocks (consensus-specs, DOMAIN_BEACON_PROPOSER).
func proposerDomain(fork eth.Fork) phase0.Domain {
	return probe.Domain(probe.DomainProposer, forkVersion(fork), genesisValidatorsRoot)
}
