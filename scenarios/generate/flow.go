package generate

import (
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/searcher"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/stream/client"
)

// planFlow puts on the agenda what users send in a slot, and who registers.
func (w *world) planFlow(ctx context.Context, slot phase0.Slot) {
	draws := drawsOf(w.seed, uint64(slot), "users")
	start := w.spec.SlotStart(slot)
	w.add(start, func() error { return w.sendPublic(slot) })
	for turn := range privatePerSlot {
		w.add(start.Add(micros(draws, 0, slotSeconds*1e9)), func() error { return w.sendPrivate(ctx, slot, turn) })
	}
	if happens(draws, 600) {
		w.add(start.Add(micros(draws, time.Second, 10*time.Second)), func() error { return w.sendBundle(ctx, draws) })
	}
	if slot%slotsPerEpoch == 0 {
		w.add(start, func() error {
			w.register(max(slot, 1))
			return nil
		})
	}
}

func (w *world) sendPublic(slot phase0.Slot) error {
	txs, err := w.public.Transactions(slot)
	if err != nil {
		return err
	}
	for _, tx := range txs {
		if err := w.mempool.add(tx); err != nil {
			return fmt.Errorf("add a transaction to the pool: %w", err)
		}
		if err := w.collector.sees(tx, w.now.Add(w.draw("way to the collector", gossip))); err != nil {
			return fmt.Errorf("collect a transaction: %w", err)
		}
	}
	return nil
}

// sendPrivate has a user send its transaction to the bundle RPC, and cancel it later if it regrets
// it.
func (w *world) sendPrivate(ctx context.Context, slot phase0.Slot, turn int) error {
	wish, err := w.private.Next(slot, turn, w.head.block.NumberU64(), w.nonce)
	if err != nil || wish == nil {
		return err
	}
	w.private.MarkSent(wish)
	w.after(w.draw("way of users", toRPC), func() error {
		err := w.orderflow.request(ctx, "eth_sendPrivateTransaction", wish.From, wish.Request)
		if err != nil && !refused(err) {
			return err
		}
		return nil
	})
	if wish.Regrets {
		w.after(w.spec.SlotDuration/4, func() error { return w.orderflow.cancelPrivate(wish.From, wish.Hash) })
	}
	return nil
}

// sendBundle has somebody send a bundle for the next block: a transfer and a swap, one of which
// pays the block. Some demand more than the pool gives, some are replaced by a better version, and
// some are sent so late that the next block is built without them.
func (w *world) sendBundle(ctx context.Context, draws *rand.Rand) error {
	wallet := w.bundlers[draws.IntN(len(w.bundlers))]
	signer := network.Address(wallet)
	replacement := uuid.NewSHA1(uuid.Nil, binary.BigEndian.AppendUint64(nil, draws.Uint64()))
	least := new(uint256.Int)
	if happens(draws, 150) {
		least.Mul(uint256.NewInt(1e18), uint256.NewInt(1e9)) // more tokens than there are
	}
	tip := 1 + draws.Int64N(20)
	send := func(tip int64) error {
		param, err := w.bundleOf(wallet, tip, least, replacement)
		if err != nil {
			return err
		}
		if err := w.orderflow.request(ctx, "eth_sendBundle", signer, param); err != nil && !refused(err) {
			return err
		}
		return nil
	}
	w.after(w.draw("way of users", toRPC), func() error { return send(tip) })
	if happens(draws, 250) {
		w.after(micros(draws, 300*time.Millisecond, 2*time.Second), func() error { return send(2 * tip) })
	}
	return nil
}

// bundleOf is the parameter of eth_sendBundle.
func (w *world) bundleOf(wallet *ecdsa.PrivateKey, tip int64, least *uint256.Int,
	replacement uuid.UUID) (map[string]any, error) {
	nonce, err := w.nonce(network.Address(wallet))
	if err != nil {
		return nil, err
	}
	next := w.spec.ForkAt(w.slotNow() + 1)
	var raws []hexutil.Bytes
	for i, tx := range []*types.DynamicFeeTx{
		{To: &common.Address{0x62}, Value: big.NewInt(params.GWei), Gas: chain.TransferGas(next), GasTipCap: new(big.Int)},
		{
			To: &chain.RouterAt, Value: big.NewInt(2 * params.Ether), Data: chain.BuyCall(chain.PoolB, least),
			Gas: chain.CallGas(next, chain.SwapGas), GasTipCap: big.NewInt(tip * params.GWei / 4),
		},
	} {
		tx.ChainID, tx.Nonce, tx.GasFeeCap = w.mempool.signer.ChainID(), nonce+uint64(i), big.NewInt(200*params.GWei)
		signed, err := types.SignNewTx(wallet, w.mempool.signer, tx)
		if err != nil {
			return nil, fmt.Errorf("sign a bundle's transaction: %w", err)
		}
		raw, err := signed.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("encode a bundle's transaction: %w", err)
		}
		raws = append(raws, raw)
	}
	return map[string]any{
		"txs": raws, "blockNumber": hexutil.Uint64(w.head.block.NumberU64() + 1), "replacementUuid": replacement,
	}, nil
}

// seeker is a searcher.
type seeker struct {
	*searcher.Searcher
	signer common.Address
}

func (w *world) openSeekers(keys []*ecdsa.PrivateKey) (all []*seeker) {
	for i := range searchers {
		own := keys[i*network.SearcherWallets : (i+1)*network.SearcherWallets]
		all = append(all, &seeker{
			Searcher: searcher.New(searcher.Config{
				Name: network.SearcherName(i), Wallets: own, ChainID: network.ChainID, Spec: w.spec,
			}),
			signer: network.Address(own[0]),
		})
	}
	return all
}

// follow has a searcher answer a hint, if it wants to.
func (w *world) follow(ctx context.Context, s *seeker, hint []byte) error {
	var event client.Event
	if err := json.Unmarshal(hint, &event); err != nil {
		return fmt.Errorf("read a hint: %w", err)
	}
	market, err := w.market(ctx)
	if err != nil {
		return err
	}
	param, err := s.Answer(event, market, w.nonce)
	if err != nil || param == nil {
		return err
	}
	w.after(w.draw(s.Name, thinking)+w.draw(s.Name, toRPC), func() error {
		if err := w.orderflow.request(ctx, "mev_sendBundle", s.signer, param); err != nil && !refused(err) {
			return err
		}
		return nil
	})
	return nil
}

// market reads the pools' reserves after the head, by calling them.
func (w *world) market(ctx context.Context) (searcher.Market, error) {
	header := w.head.block.Header()
	m := searcher.Market{
		Head: header.Number.Uint64(), BaseFeeWei: uint256.MustFromBig(header.BaseFee),
		Reserves: map[common.Address]chain.Reserves{}, Fork: w.spec.ForkAt(w.slotNow() + 1),
	}
	etherCall, tokenCall := chain.ReserveCalls()
	var calls []exec.Tx
	for _, pool := range chain.Pools {
		for _, data := range [][]byte{etherCall, tokenCall} {
			tx := types.NewTx(&types.LegacyTx{To: &pool, Data: data, Gas: 100_000, GasPrice: common.Big0, Value: common.Big0})
			calls = append(calls, exec.Tx{Transaction: tx, Unsigned: true})
		}
	}
	got, err := w.simulator.Call(ctx, calls, exec.Environment{ParentHash: header.Hash(), BaseFeeWei: new(uint256.Int)})
	if err != nil {
		return m, fmt.Errorf("read the market: %w", err)
	}
	for i, pool := range chain.Pools {
		m.Reserves[pool] = chain.Reserves{
			EtherWei: new(uint256.Int).SetBytes(got.Results[2*i].Return),
			Tokens:   new(uint256.Int).SetBytes(got.Results[2*i+1].Return),
		}
	}
	return m, nil
}

func wallets(seed uint64, family string, count int) []*ecdsa.PrivateKey {
	list := make([]*ecdsa.PrivateKey, count)
	for i := range list {
		list[i] = network.Wallet(seed, family, i)
	}
	return list
}
