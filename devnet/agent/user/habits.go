package user

import (
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

// habits are those of the users that fill the transaction pool.
type habits struct {
	perSlot, blobEvery int
	seed               uint64
}

// sending is what the users send when a slot begins.
type sending struct {
	transfers []transfer
	// blob says that they send a blob transaction, with the fixed sidecar of this number.
	blob    bool
	sidecar int
}

// transfer is a transaction that a user wants to send.
type transfer struct {
	to               common.Address
	valueWei, tipWei *big.Int
	gas              uint64
	data             []byte
}

// callBytes is the length of call data that looks like a call: a selector and two words. A
// transaction gets as much gas as this data can cost at most (EIP-7623).
const callBytes = 4 + 2*32

// decide is pure: the same seed and slot give the same transactions. One transfer in eight has call
// data. next is the fork of the next slot. Before fulu there are no blobs: go-ethereum's pool takes
// only sidecars with cell proofs, whatever the fork.
func (h habits) decide(slot uint64, next eth.Fork) sending {
	random := rand.New(rand.NewPCG(h.seed, slot))
	var d sending
	for range h.perSlot {
		one := transfer{
			to:     common.Address{0x75, byte(random.Uint32()), byte(random.Uint32())},
			tipWei: big.NewInt((1 + random.Int64N(50)) * params.GWei / 10), gas: chain.TransferGas(next),
			valueWei: big.NewInt(1 + random.Int64N(params.GWei)),
		}
		if random.IntN(8) == 0 {
			one.data = make([]byte, callBytes)
			for i := range one.data {
				one.data[i] = byte(random.Uint32())
			}
			one.gas += callBytes * params.TxCostFloorPerToken * params.TxTokenPerNonZeroByte
		}
		d.transfers = append(d.transfers, one)
	}
	if d.blob = h.blobEvery > 0 && slot%uint64(h.blobEvery) == 0 && next.HasCellProofs(); d.blob {
		d.sidecar = random.IntN(chain.FixedBlobs)
	}
	return d
}
