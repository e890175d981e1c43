package chain

import (
	"crypto/ecdsa"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Config says which chain to make. It has no defaults of its own but those named here.
type Config struct {
	// Spec places the forks in time; execution forks are activated at the first slot of their
	// consensus fork's epoch.
	Spec *eth.Spec
	// ChainID of the execution layer.
	ChainID uint64
	// DataDir keeps the chain on disk; empty keeps it in memory.
	DataDir string
	// GasLimit of the genesis block; 0 means 60,000,000.
	GasLimit uint64
	// Funded accounts get 1,000,000 ether each at genesis.
	Funded []common.Address
	// Accounts are further ones at genesis, such as contracts.
	Accounts types.GenesisAlloc
	// RPCAddr is the host:port of the execution JSON-RPC (eth, net, web3, txpool over HTTP and, at the
	// same address, WebSocket); empty opens none.
	RPCAddr string
	// KeepStates keeps the state after each block; otherwise those after the last 128 of them.
	KeepStates bool
}

// BuildArgs say what block to build. The caller has chosen and ordered the transactions.
type BuildArgs struct {
	Parent      phase0.Hash32
	Slot        phase0.Slot
	PrevRandao  [32]byte
	Withdrawals []*capella.Withdrawal // ignored before capella
	// ParentBeaconRoot is ignored before deneb.
	ParentBeaconRoot phase0.Root
	// Coinbase receives the priority fees.
	Coinbase common.Address
	// GasLimitTarget is the limit that the proposer registered; the block's own limit moves towards it
	// as far as one step allows.
	GasLimitTarget uint64
	ExtraData      []byte
	// Transactions in order; blob transactions carry their sidecars. One that cannot be applied is
	// left out.
	Transactions []*types.Transaction
	// Payment, if any, becomes the last transaction.
	Payment *Payment
}

// Payment pays the proposer in the block's last transaction: no tip, no data.
type Payment struct {
	From *ecdsa.PrivateKey
	To   common.Address
	// ValueWei is what is paid. If nil, all that the coinbase has gained by this block's transactions,
	// less the payment's own gas (the sender must then be the coinbase).
	ValueWei *uint256.Int
	// Share, if set, decides the value from what the coinbase has gained, in place of ValueWei.
	Share func(gainWei *uint256.Int) *uint256.Int
}

// Built is a finished block that has been executed but is imported nowhere.
type Built struct {
	Fork     eth.Fork
	Block    *types.Block
	Payload  *payload.Payload
	Blobs    *payload.Blobs             // nil before deneb, empty without blobs
	Requests *electra.ExecutionRequests // nil before electra
	// CoinbaseGainWei is what the coinbase gained before the payment.
	CoinbaseGainWei *uint256.Int
	// PaidWei is the value of the payment; zero without one.
	PaidWei *uint256.Int
	// Left counts the transactions that could not be applied or did not fit.
	Left int
}
