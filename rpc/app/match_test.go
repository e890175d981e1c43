package app

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// payoutGas is what the test's builder takes from a refund for its payout, and the service is told
// that it does.
const payoutGas = 21_000

// tipping is a transfer that pays so many gwei for each of its 21,000 gas.
func (s *service) tipping(key, nonce int, gwei int64) *types.Transaction {
	s.Helper()
	return s.signed(accountKey(key), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: uint64(nonce), GasTipCap: big.NewInt(gwei * params.GWei),
		GasFeeCap: big.NewInt(1000 * params.GWei),
		Gas:       21_000, To: &common.Address{1}, Value: big.NewInt(1),
	})
}

func doubleOf(hash common.Hash) common.Hash { return crypto.Keccak256Hash(hash[:]) }

// follow sends a backrun, and returns the bundle's hash when a builder has it for the next block.
func (s *service) follow(searcher int, target common.Hash, backrun *types.Transaction) common.Hash {
	s.Helper()
	var got taken
	next := s.next()
	s.want(&got, accountKey(searcher), "mev_sendBundle", map[string]any{
		"version": "v0.1", "inclusion": map[string]any{"block": hexNumber(next), "maxBlock": hexNumber(next + 3)},
		"body": []any{map[string]any{"hash": doubleOf(target)}, map[string]any{"tx": rawOf(backrun), "canRevert": false}},
	})
	if want := crypto.Keccak256Hash(doubleOf(target).Bytes(), backrun.Hash().Bytes()); got.BundleHash != want {
		s.Errorf("the bundle is called %s, want %s", got.BundleHash, want)
	}
	s.delivered(got.BundleHash, next)
	return got.BundleHash
}

// delivered waits until the builder has an order for a block.
func (s *service) delivered(hash common.Hash, block uint64) {
	s.Helper()
	waitFor(s, "delivery", func(f rpc.OrderSent) bool { return f.Hash == hash && f.Block == block && f.Error == "" })
}

// matched is what a builder has of a bundle that it can pay a refund for, whichever method it came
// by.
type matched struct {
	number  uint64
	txs     []*types.Transaction
	percent int64 // of what the last one pays
	shares  []matchedShare
}

type matchedShare struct {
	Address common.Address `json:"address"`
	Percent int64          `json:"percent"`
}

// shareMessage is a mev_sendBundle as a builder gets it.
type shareMessage struct {
	Inclusion struct {
		Block string `json:"block"`
	} `json:"inclusion"`
	Body []struct {
		Tx     hexutil.Bytes `json:"tx"`
		Bundle *shareMessage `json:"bundle"`
	} `json:"body"`
	Validity struct {
		Refund       []struct{ BodyIdx, Percent int64 } `json:"refund"`
		RefundConfig []matchedShare                     `json:"refundConfig"`
	} `json:"validity"`
	Privacy json.RawMessage `json:"privacy"`
}

// heard reads everything that the builder got since the last time, as far as it has a refund.
func (s *service) heard() (bundles []matched) {
	s.Helper()
	for {
		select {
		case bundle := <-s.builder.got:
			if m, ok := s.readMatched(bundle); ok {
				bundles = append(bundles, m)
			}
		default:
			return bundles
		}
	}
}

func (s *service) readMatched(bundle sent) (m matched, ok bool) {
	s.Helper()
	switch {
	case bundle.method == "eth_sendBundle" && bundle.RefundPercent > 0:
		m = matched{number: s.parsed(bundle.BlockNumber), percent: int64(bundle.RefundPercent),
			shares: []matchedShare{{*bundle.RefundRecipient, 100}}}
		for _, raw := range bundle.Txs {
			m.txs = append(m.txs, s.decoded(raw))
		}
		if len(bundle.RefundTxHashes) != 1 || bundle.RefundTxHashes[0] != m.txs[len(m.txs)-1].Hash() {
			s.Errorf("the refund is paid by %s", bundle.RefundTxHashes)
		}
		return m, true
	case bundle.method == "mev_sendBundle":
		var request struct{ Params []shareMessage }
		if err := json.Unmarshal(bundle.body, &request); err != nil {
			s.Fatal(err)
		}
		top := request.Params[0]
		if len(top.Validity.Refund) != 1 {
			return matched{}, false
		}
		inner := top.Body[0].Bundle
		if top.Privacy != nil || inner.Privacy != nil {
			s.Errorf("the builder is told what strangers may know: %s", bundle.body)
		}
		m = matched{number: s.parsed(top.Inclusion.Block), percent: top.Validity.Refund[0].Percent,
			shares: inner.Validity.RefundConfig}
		m.txs = []*types.Transaction{s.decoded(inner.Body[0].Tx), s.decoded(top.Body[1].Tx)}
		return m, true
	}
	return matched{}, false
}

func (s *service) parsed(number string) uint64 {
	s.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(number, "0x"), 16, 64)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *service) decoded(raw []byte) *types.Transaction {
	s.Helper()
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		s.Fatal(err)
	}
	return tx
}

// value is what a plain transfer pays the fee recipient.
func value(tx *types.Transaction) *big.Int {
	return new(big.Int).Mul(tx.GasTipCap(), new(big.Int).SetUint64(tx.Gas()))
}

// mineBest makes the next block as an honest builder does: of all bundles with a refund the one
// that pays most, and right after it the refund's payouts, less their cost at the base fee. It
// returns the payouts.
func (s *service) mineBest(bundles []matched) (block *types.Block, payouts []*types.Transaction) {
	s.Helper()
	parent := s.node.Chain().CurrentBlock()
	var best *matched
	for i, m := range bundles {
		if m.number == parent.Number.Uint64()+1 &&
			(best == nil || value(m.txs[len(m.txs)-1]).Cmp(value(best.txs[len(best.txs)-1])) > 0) {
			best = &bundles[i]
		}
	}
	if best == nil {
		s.Fatal("the builder has nothing with a refund")
	}
	s.slot++
	s.builder.forget()
	hash := phase0.Hash32(parent.Hash())
	baseFee := eip1559.CalcBaseFee(s.node.Chain().Config(), s.node.Chain().GetHeaderByHash(parent.Hash()))
	coinbase := addressOf(accountKey(9))
	state, err := s.node.Chain().StateAt(parent.Root, parent.Number, parent.Time)
	if err != nil {
		s.Fatal(err)
	}
	nonce := state.GetNonce(coinbase)
	refund := new(big.Int).Mul(value(best.txs[len(best.txs)-1]), big.NewInt(best.percent))
	refund.Div(refund, big.NewInt(100))
	refund.Sub(refund, new(big.Int).Mul(baseFee, big.NewInt(payoutGas*int64(len(best.shares)))))
	for _, share := range best.shares {
		amount := new(big.Int).Mul(refund, big.NewInt(share.Percent))
		payouts = append(payouts, s.signed(accountKey(9), &types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: new(big.Int), GasFeeCap: baseFee, Gas: payoutGas,
			To:    &share.Address,
			Value: amount.Div(amount, big.NewInt(100)),
		}))
		nonce++
	}
	block = s.mineOn(hash, append(best.txs, payouts...)...)
	if len(block.Transactions()) != len(best.txs)+len(payouts) {
		s.Fatalf("%d transactions in the block", len(block.Transactions()))
	}
	return block, payouts
}

// balance is what an address has after a block.
func (s *service) balance(block common.Hash, of common.Address) *big.Int {
	s.Helper()
	header := s.node.Chain().GetHeaderByHash(block)
	state, err := s.node.Chain().StateAt(header.Root, header.Number, header.Time)
	if err != nil {
		s.Fatal(err)
	}
	return state.GetBalance(of).ToBig()
}

// The whole way: a private transaction, its hint, two who follow it, a restart, a block with the
// better one and the refund's payout, and the ledger that says of it what the chain says, wei by
// wei.
func TestMatchedRefund(t *testing.T) {
	user, other, third := addressOf(accountKey(0)), common.Address{0xaa, 1}, common.Address{0xaa, 2}
	for name, c := range map[string]struct {
		preferences map[string]any
		apis        []string
		redirect    bool
		percent     int64
		shares      []matchedShare
	}{
		"to its signer": {nil, []string{"eth_sendBundle", "cancel"}, false, 90, []matchedShare{{user, 100}}},
		"to two others, and a part to none": {
			map[string]any{"validity": map[string]any{"refund": []any{
				map[string]any{"address": other, "percent": 60}, map[string]any{"address": third, "percent": 30},
			}}}, []string{"eth_sendBundle", "mev_sendBundle", "cancel"}, false, 100, []matchedShare{{other, 60}, {third, 30}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := openChain(t)
			dir := t.TempDir()
			change := func(cfg *Config) { cfg.DataDir, cfg.PayoutGas, cfg.Builders[0].APIs = dir, payoutGas, c.apis }
			stop := h.serve(h.config(change))
			if c.redirect {
				var set struct{ From, To string }
				h.want(&set, accountKey(0), "flashbots_setFeeRefundRecipient", user, third)
			}
			request := map[string]any{"tx": rawOf(h.tipping(0, 0, 2))}
			if c.preferences != nil {
				request["preferences"] = c.preferences
			}
			var target common.Hash
			h.want(&target, accountKey(0), "eth_sendPrivateTransaction", request)
			shared := waitFor(h, "hint", func(f rpc.OrderShared) bool { return f.Hash == target })
			if b := shared.Bundle; b.Hints&orderflow.Hash == 0 || len(b.Elements) != 1 || b.Elements[0].Tx.From != user ||
				shared.Block != h.next()-1 ||
				shared.GasUsed != 21_000 || shared.MevGasPriceWei.Uint64() != 2*params.GWei {
				t.Errorf("%+v", shared)
			}
			worse := h.follow(6, target, h.tipping(1, 0, 50))
			stop()

			h.facts.reset()
			stop = h.serve(h.config(change))
			better := h.tipping(2, 0, 80)
			won := h.follow(7, target, better)
			h.delivered(worse, h.next())
			h.delivered(target, h.next())
			bundles := h.heard()
			block, payouts := h.mineBest(bundles)
			h.waitForIndexed()
			h.checkRefunds(won, block, payouts, c.shares, c.percent, better)
			var status orderStatus
			h.want(&status, accountKey(6), "gavel_getOrderStatus", worse)
			if status.State != "failed" ||
				status.Why != "it can never be included: the order that it followed landed without it" {
				t.Errorf("the worse one: %+v", status)
			}
			h.want(&status, accountKey(7), "gavel_getOrderStatus", won)
			if status.State != "landed" || status.Paid != hexutil.EncodeBig(value(better)) {
				t.Errorf("the better one: %+v", status)
			}
			if n := len(h.facts.shared()); n != 0 {
				t.Errorf("strangers are told %d times more after the restart", n)
			}
			stop()
		})
	}
}

// shared are all hints.
func (f *factsSeen) shared() (all []rpc.OrderShared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fact := range f.all {
		if s, ok := fact.(rpc.OrderShared); ok {
			all = append(all, s)
		}
	}
	return all
}

// checkRefunds compares the ledger's rows of a matched bundle with the chain.
func (s *service) checkRefunds(
	bundle common.Hash, block *types.Block, payouts []*types.Transaction, shares []matchedShare, percent int64,
	backrun *types.Transaction,
) {
	s.Helper()
	whole := new(big.Int).Mul(value(backrun), big.NewInt(percent))
	whole.Div(whole, big.NewInt(100))
	whole.Sub(whole, new(big.Int).Mul(block.BaseFee(), big.NewInt(payoutGas*int64(len(shares)))))
	s.eventually("the refunds that are on the chain", func() bool {
		var list refundList
		s.want(&list, accountKey(7), "flashbots_getFeeRefundsByBundle", map[string]any{"bundle_hash": bundle})
		if len(list.Refunds) != len(shares) || len(payouts) != len(shares) {
			s.Errorf("%d rows, %d payouts, want %d", len(list.Refunds), len(payouts), len(shares))
			return false
		}
		for i, share := range shares {
			amount := new(big.Int).Mul(whole, big.NewInt(share.Percent))
			amount.Div(amount, big.NewInt(100))
			want := hexutil.EncodeBig(amount)
			row := list.Refunds[i]
			if row.Amount != want || row.Status != "received" || row.Recipient != share.Address ||
				row.BlockNumber != hexNumber(block.NumberU64()) {
				s.Errorf("row %+v, want %s for %s", row, want, share.Address)
			}
			if got := s.received(block, share.Address); got.Cmp(amount) != 0 {
				s.Errorf("%s received %s on the chain, want %s", share.Address, got, amount)
			}
		}
		return true
	})
}

// received is what an address has more after a block than before, without what its own transactions
// cost it.
func (s *service) received(block *types.Block, of common.Address) *big.Int {
	s.Helper()
	got := new(big.Int).Sub(s.balance(block.Hash(), of), s.balance(block.ParentHash(), of))
	for _, tx := range block.Transactions() {
		if from, err := types.Sender(types.LatestSigner(s.node.Chain().Config()), tx); err == nil && from == of {
			price := new(big.Int).Add(block.BaseFee(), tx.GasTipCap())
			got.Add(got, tx.Value()).Add(got, price.Mul(price, big.NewInt(21_000)))
		}
	}
	return got
}

// A backrun that is spelled out and shared can be followed itself: each gives back a part of what
// comes after it, to the wei.
func TestBackrunOfABackrun(t *testing.T) {
	h := openService(t, func(cfg *Config) { cfg.Builders[0].APIs = []string{"mev_sendBundle", "cancel"} })
	a, b, c := h.tipping(0, 0, 2), h.tipping(1, 0, 50), h.tipping(2, 0, 80)
	next, owner := hexNumber(h.next()), common.Address{0xaa, 7}
	var inner taken
	h.want(&inner, accountKey(6), "mev_sendBundle", map[string]any{
		"version": "v0.1", "inclusion": map[string]any{"block": next},
		"body": []any{
			map[string]any{"bundle": map[string]any{
				"version": "v0.1", "inclusion": map[string]any{"block": next}, "body": []any{map[string]any{"tx": rawOf(a)}},
			}},
			map[string]any{"tx": rawOf(b)},
		},
		"validity": map[string]any{
			"refund":       []any{map[string]any{"bodyIdx": 0, "percent": 70}},
			"refundConfig": []any{map[string]any{"address": owner, "percent": 100}},
		},
		"privacy": map[string]any{"hints": []string{"hash", "tx_hash"}, "wantRefund": 80},
	})
	waitFor(h, "hint", func(f rpc.OrderShared) bool { return f.Hash == inner.BundleHash && len(f.Bundle.Elements) == 2 })
	outer := h.follow(7, inner.BundleHash, c)
	h.mineAlone(a, b, c)
	for _, want := range []struct {
		bundle, hash common.Hash
		recipient    common.Address
		wei          uint64
	}{
		{inner.BundleHash, a.Hash(), addressOf(accountKey(0)), 21_000 * 50 * params.GWei / 100 * 70},
		{outer, inner.BundleHash, owner, 21_000 * 80 * params.GWei / 100 * 80},
	} {
		credit := waitFor(h, "refund", func(f rpc.RefundCredited) bool { return f.Bundle == want.bundle })
		if credit.Hash != want.hash || credit.Recipient != want.recipient || credit.AmountWei.Uint64() != want.wei {
			t.Errorf("%+v, want %+v", credit, want)
		}
	}
	h.waitForIndexed()
}

// mineAlone makes the next block of just these transactions.
func (s *service) mineAlone(txs ...*types.Transaction) {
	s.Helper()
	s.builder.forget()
	if block := s.mine(txs...); len(block.Transactions()) != len(txs) {
		s.Fatalf("%d transactions in the block", len(block.Transactions()))
	}
}
