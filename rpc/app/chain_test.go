package app

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

const chainID = 0x67766c

// accountKey is the key of an account with money: 0 to 4 are for transactions, 9 is the builder's.
func accountKey(i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Append(nil, "rpc house key ", i)))
	if err != nil {
		panic(err)
	}
	return key
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// openChain is a chain of fulu in memory with one block.
func openChain(t testing.TB) *service { return openChainOf(t, eth.Fulu) }

// openChainOf is openChain for any fork.
func openChainOf(t testing.TB, fork eth.Fork) *service {
	t.Helper()
	h := &service{TB: t, facts: newFactsSeen()}
	h.spec = &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: fork}},
	}
	funded := []common.Address{docsAccount}
	for i := range 10 {
		funded = append(funded, addressOf(accountKey(i)))
	}
	var err error
	h.node, err = chain.Open(chain.Config{Spec: h.spec, ChainID: chainID, Funded: funded, RPCAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.node.Close(); err != nil {
			t.Error(err)
		}
	})
	h.builder = newBuilder(t)
	h.mine()
	return h
}

// docsAccount has money for the examples of the documents. Everybody knows its key.
var docsAccount = common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")

// mine makes a block of what the builder was sent for it and of further transactions, and makes it
// the head.
func (s *service) mine(txs ...*types.Transaction) *types.Block {
	s.Helper()
	s.slot++
	head := s.node.Chain().CurrentBlock()
	bundles := s.builder.take(head.Number.Uint64() + 1)
	return s.mineOn(phase0.Hash32(head.Hash()), append(bundles, txs...)...)
}

// mineOn is mine on any parent, without what the builder was sent.
func (s *service) mineOn(parent phase0.Hash32, txs ...*types.Transaction) *types.Block {
	s.Helper()
	args := chain.BuildArgs{
		Parent: parent, Slot: s.slot, PrevRandao: [32]byte{byte(s.slot)}, ParentBeaconRoot: phase0.Root{byte(s.slot)},
		Coinbase: addressOf(accountKey(9)), GasLimitTarget: 60_000_000, Transactions: txs,
	}
	built, err := s.node.Build(s.Context(), args)
	if err != nil {
		s.Fatal(err)
	}
	var commitments []deneb.KZGCommitment
	if built.Blobs != nil {
		commitments = built.Blobs.Commitments
	}
	if built.Gloas != nil {
		p, requests := payload.JoinGloas(built.Payload, built.Requests, built.Gloas)
		err = s.node.ImportGloas(s.Context(), p, commitments, args.ParentBeaconRoot, requests)
	} else {
		err = s.node.Import(s.Context(), built.Fork, built.Payload, commitments, args.ParentBeaconRoot, built.Requests)
	}
	if err != nil {
		s.Fatal(err)
	}
	if err := s.node.SetHead(s.Context(), built.Hash()); err != nil {
		s.Fatal(err)
	}
	return built.Block
}

// next is the number of the next block.
func (s *service) next() uint64 { return s.node.Chain().CurrentBlock().Number.Uint64() + 1 }

// tx is a signed transfer that pays a tip of one gwei for each gas.
func (s *service) tx(key *ecdsa.PrivateKey, nonce uint64, to common.Address, valueWei int64) *types.Transaction {
	s.Helper()
	return s.signed(key, &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       21_000, To: &to, Value: big.NewInt(valueWei),
	})
}

func (s *service) signed(key *ecdsa.PrivateKey, data types.TxData) *types.Transaction {
	s.Helper()
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), data)
	if err != nil {
		s.Fatal(err)
	}
	return tx
}

func rawOf(tx *types.Transaction) string {
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return hexutil.Encode(raw)
}
