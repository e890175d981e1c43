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

// Config says which chain to make. It has no defaults but those named here.
type Config struct {
	// Spec places the forks in time; execution forks are activated at the first slot of their
	// consensus fork's epoch.
	Spec *eth.Spec
	// ChainID is the execution layer's.
	ChainID uint64
	// DataDir keeps the chain on disk; empty keeps it in memory.
	DataDir string
	// GasLimit is the genesis block's; 0 means 60,000,000.
	GasLimit uint64
	// Funded accounts get 1,000,000 ether each at genesis.
	Funded []common.Address
	// Accounts are further accounts at genesis, such as contracts.
	Accounts types.GenesisAlloc
	// RPCAddr is the host:port of the execution JSON-RPC (eth, net, web3, txpool over HTTP and, at
	// the same address, WebSocket); empty starts none.
	RPCAddr string
	// KeepStates keeps the state after every block; otherwise only those after the last 128 blocks.
	KeepStates bool
}

// BuildArgs say which block to build. The caller has chosen and ordered the transactions.
type BuildArgs struct {
	Parent      phase0.Hash32
	Slot        phase0.Slot
	PrevRandao  [32]byte
	Withdrawals []*capella.Withdrawal // ignored before capella
	// ParentBeaconRoot is ignored before deneb.
	ParentBeaconRoot phase0.Root
	// Coinbase receives the priority fees.
	Coinbase common.Address
	// GasLimitTarget is the gas limit that the proposer registered. The block's own limit moves
	// towards it as far as the protocol allows in one block.
	GasLimitTarget uint64
	ExtraData      []byte
	// Transactions are applied in this order; blob transactions carry their sidecars. A transaction
	// that cannot be applied is left out.
	Transactions []*types.Transaction
	// Payment, if any, becomes the last transaction.
	Payment *Payment
}

// Payment pays the proposer by the block's last transaction, without tip and data.
type Payment struct {
	From *ecdsa.PrivateKey
	To   common.Address
	// ValueWei is what is paid. nil means all that the coinbase has gained by this block's
	// transactions, less the payment's own gas; the sender must then be the coinbase.
	ValueWei *uint256.Int
	// Share, if set, computes the value from what the coinbase has gained; ValueWei is then
	// ignored.
	Share func(gainWei *uint256.Int) *uint256.Int
}

// Built is a finished block that has been executed but not imported.
type Built struct {
	Fork     eth.Fork
	Block    *types.Block
	Payload  *payload.Payload
	Blobs    *payload.Blobs             // nil before deneb, empty without blobs
	Requests *electra.ExecutionRequests // nil before electra
	Gloas    *payload.Gloas             // what gloas adds to payload and requests; nil before gloas
	// CoinbaseGainWei is what the coinbase gained before the payment.
	CoinbaseGainWei *uint256.Int
	// PaidWei is the value of the payment; zero without one.
	PaidWei *uint256.Int
	// Left counts the transactions that were left out, because they could not be applied or did not
	// fit.
	Left int
}
