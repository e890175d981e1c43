// Package user is the users of the devnet. Some fill the transaction pool over JSON-RPC, like any
// wallet: with transfers of different tips, and sometimes a blob (user.go). In their place others
// send what a file of the mempool has (replay.go). Others send to the bundle RPC only (private.go,
// trader.go). A payer pays delayed refunds (payer.go). What each of them sends is decided by pure
// functions (habits.go, wishes.go, Strategy, stage, package mempool).
package user

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"log/slog"
	"math/big"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Config says which wallets send how many transactions.
type Config struct {
	// Wallets are two or more. They send in turn, except the last one, which sends only blobs,
	// because the pool takes only one kind from a sender.
	Wallets []*ecdsa.PrivateKey
	ChainID uint64
	// PerSlot is how many transactions are sent when a slot begins: transfers, of which one in
	// eight has call data.
	PerSlot int
	// BlobEvery n sends a blob transaction in every n-th slot; 0 sends none. Before fulu there are
	// none: go-ethereum's pool takes only sidecars with cell proofs, whatever the fork.
	BlobEvery int
	Spec      *eth.Spec
	Clock     clock.Clock
	// RPC is the execution node's JSON-RPC.
	RPC  *rpc.Client
	Seed uint64
	Log  *slog.Logger
}

// User is a group of wallets. All sending happens in the goroutine of Run.
type User struct {
	Config
	nonces map[common.Address]uint64 // the next ones; if empty, they must be read from the node
	signer types.Signer
}

// New returns a user that sends nothing until Run.
func New(cfg Config) *User {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &User{
		Config: cfg, nonces: map[common.Address]uint64{},
		signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)),
	}
}

// Run sends in each slot until the context ends, and then returns nil. It skips slots that passed
// while the node was slow. Refusals of the node are logged and do not end it; too few wallets are
// an error.
func (u *User) Run(ctx context.Context) error {
	if len(u.Wallets) < 2 {
		return fmt.Errorf("users have %d wallets, want at least one for transfers and one for blobs", len(u.Wallets))
	}
	for slot := u.Spec.SlotAt(u.Clock.Now()); ; slot = max(slot+1, u.Spec.SlotAt(u.Clock.Now())) {
		if u.Clock.Until(ctx, u.Spec.SlotStart(slot)) != nil {
			return nil
		}
		if err := u.send(ctx, slot); err != nil && ctx.Err() == nil {
			u.Log.Warn("send transactions", "slot", slot, "error", err)
			clear(u.nonces) // read them from the node again
		}
	}
}

// batchLimit is how many calls go into one batch: go-ethereum answers at most 1,000.
const batchLimit = 500

// call makes all calls, in batches. It returns the error of the first call that failed; the calls
// after it are made too.
func (u *User) call(ctx context.Context, calls []rpc.BatchElem) error {
	for batch := range slices.Chunk(calls, batchLimit) {
		if err := u.RPC.BatchCallContext(ctx, batch); err != nil {
			return err
		}
	}
	for _, call := range calls {
		if call.Error != nil {
			return call.Error
		}
	}
	return nil
}

// send sends one slot's transactions.
func (u *User) send(ctx context.Context, slot phase0.Slot) error {
	if len(u.nonces) == 0 {
		if err := u.readNonces(ctx); err != nil {
			return err
		}
	}
	txs, err := u.Transactions(slot)
	if err != nil {
		return err
	}
	batch := make([]rpc.BatchElem, len(txs))
	for i, tx := range txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return fmt.Errorf("encode transaction: %w", err)
		}
		batch[i] = rpc.BatchElem{Method: "eth_sendRawTransaction", Args: []any{hexutil.Encode(raw)}, Result: new(common.Hash)}
	}
	return u.call(ctx, batch)
}

// Transactions returns those that the users decide to send in a slot, signed. A blob is made for
// the fork of the next slot, because that is the first slot whose block can have it. The nonces
// continue those of the call before, and begin with 0 if there was none.
func (u *User) Transactions(slot phase0.Slot) ([]*types.Transaction, error) {
	payers, blobPayer := u.Wallets[:len(u.Wallets)-1], u.Wallets[len(u.Wallets)-1]
	fork := u.Spec.ForkAt(slot + 1)
	d := habits{perSlot: u.PerSlot, blobEvery: u.BlobEvery, seed: u.Seed}.decide(uint64(slot), fork)
	var txs []*types.Transaction
	for i, want := range d.transfers {
		from := payers[i%len(payers)]
		tx, err := types.SignNewTx(from, u.signer, &types.DynamicFeeTx{
			ChainID: u.signer.ChainID(), Nonce: u.next(from), GasTipCap: want.tipWei, GasFeeCap: big.NewInt(200 * params.GWei),
			Gas: want.gas, To: &want.to, Value: want.valueWei, Data: want.data,
		})
		if err != nil {
			return nil, fmt.Errorf("sign a transfer: %w", err)
		}
		txs = append(txs, tx)
	}
	if !d.blob {
		return txs, nil
	}
	sidecar := chain.Sidecar(fork, d.sidecar)
	tx, err := types.SignNewTx(blobPayer, u.signer, &types.BlobTx{
		ChainID: uint256.NewInt(u.ChainID), Nonce: u.next(blobPayer), GasTipCap: uint256.NewInt(3 * params.GWei),
		GasFeeCap: uint256.NewInt(200 * params.GWei), Gas: chain.TransferGas(fork),
		BlobFeeCap: uint256.NewInt(100 * params.GWei),
		BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
	if err != nil {
		return nil, fmt.Errorf("sign a blob: %w", err)
	}
	return append(txs, tx), nil
}

// next returns and uses up the next nonce of a wallet.
func (u *User) next(from *ecdsa.PrivateKey) uint64 {
	address := crypto.PubkeyToAddress(from.PublicKey)
	nonce := u.nonces[address]
	u.nonces[address]++
	return nonce
}

// readNonces reads all wallets' next nonces from the node, counting those in its pool.
func (u *User) readNonces(ctx context.Context) error {
	batch := make([]rpc.BatchElem, len(u.Wallets))
	results := make([]hexutil.Uint64, len(u.Wallets))
	for i, wallet := range u.Wallets {
		address := crypto.PubkeyToAddress(wallet.PublicKey)
		batch[i] = rpc.BatchElem{Method: "eth_getTransactionCount", Args: []any{address, "pending"}, Result: &results[i]}
	}
	if err := u.call(ctx, batch); err != nil {
		return fmt.Errorf("read nonces: %w", err)
	}
	for i, wallet := range u.Wallets {
		u.nonces[crypto.PubkeyToAddress(wallet.PublicKey)] = uint64(results[i])
	}
	return nil
}
