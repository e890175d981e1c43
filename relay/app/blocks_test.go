package app_test

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"testing"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
)

var builderPays = wallet("builder", 0)

// spenders have money at genesis: the builder, and a user for each slot.
func spenders() []common.Address {
	funded := []common.Address{addressOf(builderPays)}
	for slot := range phase0.Slot(validatorCount) {
		funded = append(funded, addressOf(user(slot)))
	}
	return funded
}

func wallet(family string, i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Appendf(nil, "wallet %s %d", family, i)))
	if err != nil {
		panic(err) // one in 2^128
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// user sends the transactions of a slot's blocks, always from nonce 0: each slot has its own.
func user(slot phase0.Slot) *ecdsa.PrivateKey { return wallet("user", int(slot)) }

// args ask for a block of the auction: two transfers, from deneb on a blob, and a payment of all
// that the coinbase gains.
func (h *relayUnderTest) args(t testing.TB) chain.BuildArgs {
	t.Helper()
	h.built++
	index, _ := h.duty(h.slot)
	a := chain.BuildArgs{
		Parent: h.attributes.ParentHash, Slot: h.slot, PrevRandao: h.attributes.PrevRandao,
		ParentBeaconRoot: h.attributes.ParentRoot,
		Withdrawals:      h.attributes.Withdrawals, Coinbase: addressOf(builderPays), GasLimitTarget: network.GasLimit,
		ExtraData: fmt.Appendf(nil, "block %d", h.built), Transactions: []*types.Transaction{h.transfer(t, 0),
			h.transfer(t, 1)},
		Payment: &chain.Payment{From: builderPays, To: common.Address(payee(index))},
	}
	if h.fork >= eth.Deneb {
		a.Transactions = append(a.Transactions, h.blobTransaction(t, 2, 0))
	}
	return a
}

func (h *relayUnderTest) signTx(t testing.TB, key *ecdsa.PrivateKey, data types.TxData) *types.Transaction {
	t.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(network.ChainID)), data)
	must(t, err)
	return tx
}

func (h *relayUnderTest) transfer(t testing.TB, nonce uint64) *types.Transaction {
	return h.signTx(t, user(h.slot), &types.DynamicFeeTx{
		ChainID: big.NewInt(network.ChainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       21_000, To: &common.Address{1}, Value: big.NewInt(1),
	})
}

func (h *relayUnderTest) blobTransaction(t testing.TB, nonce uint64, blobs ...int) *types.Transaction {
	sidecar := chain.Sidecar(h.fork, blobs...)
	return h.signTx(t, user(h.slot%validatorCount), &types.BlobTx{
		ChainID: uint256.NewInt(network.ChainID), Nonce: nonce, GasTipCap: uint256.NewInt(params.GWei),
		GasFeeCap: uint256.NewInt(100 * params.GWei),
		Gas:       21_000, BlobFeeCap: uint256.NewInt(params.GWei), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
}

// good is a submission that nothing is wrong with.
func (h *relayUnderTest) good(t testing.TB) *submission {
	t.Helper()
	return h.build(t, h.args(t))
}

// worth is a good submission of a builder that bids a value in wei, at most what the block gains.
func (h *relayUnderTest) worth(t testing.TB, builder int, wei uint64) *submission {
	t.Helper()
	args := h.args(t)
	args.Payment.ValueWei = uint256.NewInt(wei)
	s := h.build(t, args)
	s.key = builderKeys[builder]
	s.sign()
	return s
}

// build makes the submission of any block, signed by the first builder.
func (h *relayUnderTest) build(t testing.TB, args chain.BuildArgs) *submission {
	t.Helper()
	built, err := h.node.Build(t.Context(), args)
	must(t, err)
	index, proposer := h.duty(h.slot)
	s := &submission{
		fork: h.fork, spec: h.spec, key: builderKeys[0], payload: built.Payload, blobs: built.Blobs, requests: built.Requests,
		parentRoot: args.ParentBeaconRoot,
		trace: &builderv1.BidTrace{
			Slot: uint64(h.slot), ParentHash: built.Payload.ParentHash, BlockHash: built.Hash(),
			ProposerPubkey:       proposer.PublicKey(),
			ProposerFeeRecipient: payee(index), GasLimit: built.Payload.GasLimit, GasUsed: built.Payload.GasUsed,
			Value: built.PaidWei,
		},
	}
	s.sign()
	return s
}
