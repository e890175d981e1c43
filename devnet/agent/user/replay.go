package user

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/internal/clock"
)

// ReplayConfig says what is sent by whom.
type ReplayConfig struct {
	Plan *mempool.Plan
	// Wallets are the plan's senders. They have ether, and send nothing else.
	Wallets []*ecdsa.PrivateKey
	ChainID uint64
	// Begin is when the first transaction is sent.
	Begin time.Time
	Clock clock.Clock
	// RPC is the execution node's JSON-RPC.
	RPC *rpc.Client
}

// Replay is the users of a file of the mempool: they send what its plan says, in the place of those
// that send what they like. All sending happens in the goroutine of Run.
type Replay struct {
	ReplayConfig
	signer types.Signer
	// offsets are the senders' places in taken, which says of each nonce whether the node took a
	// transaction with it.
	offsets []int
	taken   []bool
	outcome mempool.Outcome
}

// NewReplay returns users that send nothing until Run.
func NewReplay(cfg ReplayConfig) *Replay {
	r := &Replay{
		ReplayConfig: cfg, signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)),
		offsets: make([]int, cfg.Plan.Senders), taken: make([]bool, cfg.Plan.Nonces),
		outcome: mempool.Outcome{Plan: cfg.Plan, Refused: mempool.Counts{}},
	}
	used := make([]int, cfg.Plan.Senders)
	for _, s := range cfg.Plan.Steps {
		used[s.Sender] = max(used[s.Sender], int(s.Nonce)+1)
	}
	at := 0
	for sender, n := range used {
		r.offsets[sender] = at
		at += n
	}
	return r
}

// batchBytes bounds the transactions of one request, beside batchLimit.
const batchBytes = 1 << 20

// Run sends until the plan is at its end or the context ends, and then returns nil. What the node
// refuses is counted. What a busy machine could not send in time is sent at once, in its order.
func (r *Replay) Run(ctx context.Context) error {
	for rest := r.Plan.Steps; len(rest) > 0; {
		if r.Clock.Until(ctx, r.Begin.Add(rest[0].After)) != nil {
			return nil
		}
		due := r.Clock.Now().Sub(r.Begin)
		n, size := 0, 0
		for n < len(rest) && n < batchLimit && (n == 0 || rest[n].After <= due && size < batchBytes) {
			size += int(rest[n].Bytes)
			n++
		}
		if err := r.send(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// send sends transactions and counts what the node says.
func (r *Replay) send(ctx context.Context, steps []mempool.Step) error {
	batch := make([]rpc.BatchElem, len(steps))
	for i := range steps {
		raw, err := r.sign(&steps[i])
		if err != nil {
			return err
		}
		batch[i] = rpc.BatchElem{Method: "eth_sendRawTransaction", Args: []any{hexutil.Encode(raw)}, Result: new(common.Hash)}
	}
	failed := r.RPC.BatchCallContext(ctx, batch)
	if ctx.Err() != nil {
		return nil // the run is over, and nobody knows what was taken of these
	}
	for i, s := range steps {
		r.outcome.Reached++
		err := failed
		if err == nil {
			err = batch[i].Error
		}
		if err != nil {
			r.outcome.Refused[reason(err)]++
			continue
		}
		r.outcome.Accepted++
		if taken := &r.taken[r.offsets[s.Sender]+int(s.Nonce)]; *taken {
			r.outcome.Replaced++
		} else {
			*taken = true
		}
	}
	return nil
}

// reason is what the node says, without the numbers of the case.
func reason(err error) string {
	text, _, _ := strings.Cut(err.Error(), ":")
	return text
}

// sign makes the transaction of a step.
func (r *Replay) sign(s *mempool.Step) ([]byte, error) {
	var to *common.Address
	if !s.Creates {
		to = (*common.Address)(&s.To)
	}
	wei := func(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
	var data types.TxData
	switch s.Type {
	case types.LegacyTxType:
		data = &types.LegacyTx{Nonce: s.Nonce, GasPrice: wei(s.FeeWei), Gas: s.Gas, To: to, Value: wei(s.ValueWei),
			Data: s.Data()}
	case types.AccessListTxType:
		data = &types.AccessListTx{ChainID: r.signer.ChainID(), Nonce: s.Nonce, GasPrice: wei(s.FeeWei), Gas: s.Gas, To: to,
			Value: wei(s.ValueWei), Data: s.Data()}
	default:
		data = &types.DynamicFeeTx{ChainID: r.signer.ChainID(), Nonce: s.Nonce, GasTipCap: wei(s.TipWei),
			GasFeeCap: wei(s.FeeWei), Gas: s.Gas, To: to, Value: wei(s.ValueWei), Data: s.Data()}
	}
	tx, err := types.SignNewTx(r.Wallets[s.Sender], r.signer, data)
	if err != nil {
		return nil, fmt.Errorf("sign a transaction of the file: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode a transaction of the file: %w", err)
	}
	return raw, nil
}

// Outcome counts what became of the plan. It is called after Run: what is on the chain follows from
// the senders' nonces.
func (r *Replay) Outcome(ctx context.Context) (*mempool.Outcome, error) {
	o := r.outcome
	for wallets := range slices.Chunk(r.Wallets, batchLimit) {
		batch, nonces := make([]rpc.BatchElem, len(wallets)), make([]hexutil.Uint64, len(wallets))
		for i, wallet := range wallets {
			batch[i] = rpc.BatchElem{Method: "eth_getTransactionCount", Result: &nonces[i],
				Args: []any{crypto.PubkeyToAddress(wallet.PublicKey), "latest"}}
		}
		if err := r.RPC.BatchCallContext(ctx, batch); err != nil {
			return nil, fmt.Errorf("read nonces: %w", err)
		}
		for i, call := range batch {
			if call.Error != nil {
				return nil, fmt.Errorf("read nonces: %w", call.Error)
			}
			o.Included += int64(nonces[i])
		}
	}
	return &o, nil
}
