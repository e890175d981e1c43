package load

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/world"
)

// sentOrder is a request about an order, and the hash that the order has.
type sentOrder struct {
	kind   bench.Kind
	method string
	param  any
	signer *ecdsa.PrivateKey
	hash   common.Hash
	block  uint64
}

// wallets sign transactions that differ from each other and could all be next on the chain.
type wallets struct {
	keys   []*ecdsa.PrivateKey
	signer types.Signer
	chain  *big.Int
	made   atomic.Int64
}

// walletCount is how many senders there are.
const walletCount = 8

func openWallets(ctx context.Context, w *world.Client) (*wallets, error) {
	chain := new(big.Int).SetUint64(w.Facts.ChainID)
	all := &wallets{signer: types.LatestSignerForChainID(chain), chain: chain}
	for range walletCount {
		account, err := w.Account(ctx)
		if err != nil {
			return nil, err
		}
		key, err := crypto.HexToECDSA(strings.TrimPrefix(account.SecretKey, "0x"))
		if err != nil {
			return nil, fmt.Errorf("read an account of the world: %w", err)
		}
		all.keys = append(all.keys, key)
	}
	return all, nil
}

// transfer returns a transfer that nobody has seen before, and its sender.
func (w *wallets) transfer() (*types.Transaction, *ecdsa.PrivateKey, error) {
	n := w.made.Add(1)
	key := w.keys[int(n)%len(w.keys)]
	tx, err := types.SignNewTx(key, w.signer, &types.DynamicFeeTx{ChainID: w.chain, GasTipCap: big.NewInt(1e9),
		GasFeeCap: big.NewInt(100e9), Gas: 21_000, To: &common.Address{0xbe, 0x7c}, Value: big.NewInt(n)})
	if err != nil {
		return nil, nil, fmt.Errorf("sign a transfer: %w", err)
	}
	return tx, key, nil
}

// errNothingSent means that there is no bundle yet whose status could be asked for.
var errNothingSent = errors.New("no bundle was accepted yet")

// order makes the next request of a kind.
func (r *rpcRun) order(kind bench.Kind) (o sentOrder, err error) {
	if kind == bench.Status {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.accepted) == 0 {
			return o, errNothingSent
		}
		o = r.accepted[int(r.sent.Load())%len(r.accepted)]
		o.kind, o.method = bench.Status, "flashbots_getBundleStatsV2"
		o.param = map[string]any{"bundleHash": o.hash, "blockNumber": hexutil.Uint64(o.block)}
		return o, nil
	}
	tx, signer, err := r.wallet.transfer()
	if err != nil {
		return o, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return o, fmt.Errorf("encode a transfer: %w", err)
	}
	o = sentOrder{kind: kind, signer: signer, hash: tx.Hash(), block: r.head.Load() + 3}
	first, text := hexutil.Uint64(o.block), hexutil.Bytes(raw)
	switch kind {
	case bench.Shares:
		o.method, o.param = "mev_sendBundle", map[string]any{"version": "v0.1",
			"inclusion": map[string]any{"block": first, "maxBlock": first + 5},
			"body":      []any{map[string]any{"tx": text, "canRevert": false}}}
	case bench.Private:
		param := map[string]any{"tx": text, "maxBlockNumber": first + 20}
		if r.StreamURL != "" {
			param["preferences"] = map[string]any{"fast": false, "privacy": map[string]any{"hints": []string{"hash"}}}
		}
		o.method, o.param = "eth_sendPrivateTransaction", param
	default:
		o.hash = crypto.Keccak256Hash(o.hash[:])
		o.method, o.param = "eth_sendBundle", map[string]any{"txs": []any{text}, "blockNumber": first}
	}
	return o, nil
}

// wrongHash says what is wrong with the hash in an answer; it is empty if nothing is.
func (o sentOrder) wrongHash(answer reply) string {
	var said struct {
		Result json.RawMessage `json:"result"`
	}
	var bundle struct {
		Hash common.Hash `json:"bundleHash"`
	}
	err := json.Unmarshal(answer.body, &said)
	if into := any(&bundle); err == nil {
		if o.kind == bench.Private {
			into = &bundle.Hash
		}
		err = json.Unmarshal(said.Result, into)
	}
	if err != nil {
		return fmt.Sprintf("%s: the answer has no hash: %s", o.method, answer)
	}
	if bundle.Hash != o.hash {
		return fmt.Sprintf("%s: the order has hash %s, and the answer %s", o.method, o.hash, bundle.Hash)
	}
	return ""
}

// missing says that the RPC knows nothing of a bundle; it is empty if it does. Its statistics begin
// with whether it was simulated.
func (o sentOrder) missing(answer reply, good bool) string {
	var said struct {
		Result map[string]json.RawMessage `json:"result"`
	}
	if good && json.Unmarshal(answer.body, &said) == nil && said.Result["isSimulated"] != nil {
		return ""
	}
	return fmt.Sprintf("bundle %s for block %d was accepted, and then: %s", o.hash, o.block, answer)
}

// nullHash is what the null target answers to every call of a bundle RPC.
const nullHash = `{"jsonrpc":"2.0","id":1,"result":{"bundleHash":` +
	`"0x0000000000000000000000000000000000000000000000000000000000000000"}}`
