package app

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/metachris/flashbotsrpc"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// The Go client that searchers use sends a bundle, sees it simulated, sent and landed, and what it
// earned them.
func TestFlashbotsrpcBundle(t *testing.T) {
	h := openService(t, nil)
	client, signer := flashbotsrpc.New(h.url), accountKey(7)
	a, b := h.tx(accountKey(0), 0, common.Address{1}, 5), h.tx(accountKey(1), 0, common.Address{2}, 6)
	hash := crypto.Keccak256Hash(a.Hash().Bytes(), b.Hash().Bytes()).Hex()
	txs, block := []string{rawOf(a), rawOf(b)}, hexNumber(h.next())

	simulated, err := client.FlashbotsCallBundle(signer, flashbotsrpc.FlashbotsCallBundleParam{
		Txs: txs, BlockNumber: block, StateBlockNumber: "latest", Timeout: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	one := flashbotsrpc.FlashbotsCallBundleResult{
		CoinbaseDiff: "21000000000000", EthSentToCoinbase: "0", FromAddress: addressOf(accountKey(0)).Hex(),
		GasFees:  "21000000000000",
		GasPrice: "1000000000", GasUsed: 21_000, ToAddress: common.Address{1}.Hex(), TxHash: a.Hash().Hex(), Value: "0x",
	}
	if simulated.BundleHash != hash || simulated.BundleGasPrice != "1000000000" ||
		simulated.CoinbaseDiff != "42000000000000" ||
		simulated.GasFees != "42000000000000" || simulated.EthSentToCoinbase != "0" || simulated.TotalGasUsed != 42_000 ||
		simulated.StateBlockNumber != 1 || len(simulated.Results) != 2 || simulated.Results[0] != one {
		t.Errorf("simulated %+v", simulated)
	}

	taken, err := client.FlashbotsSendBundle(signer, flashbotsrpc.FlashbotsSendBundleRequest{Txs: txs, BlockNumber: block})
	if err != nil || taken.BundleHash != hash {
		t.Fatalf("%+v, %v, want %s", taken, err, hash)
	}
	if sent := <-h.builder.got; sent.method != "eth_sendBundle" || sent.BlockNumber != block || len(sent.Txs) != 2 {
		t.Errorf("the builder got %s", sent.body)
	}
	waitFor(h, "delivery", func(f rpc.OrderSent) bool { return f.Hash.Hex() == hash && f.Error == "" })
	h.mine()
	h.waitForIndexed()

	stats, err := client.FlashbotsGetBundleStatsV2(signer, flashbotsrpc.FlashbotsGetBundleStatsParam{BundleHash: hash,
		BlockNumber: block})
	if err != nil {
		t.Fatal(err)
	}
	if !stats.IsSimulated || !stats.IsHighPriority || stats.ReceivedAt.IsZero() ||
		stats.SimulatedAt.Before(stats.ReceivedAt) ||
		len(stats.ConsideredByBuildersAt) != 1 || stats.ConsideredByBuildersAt[0].Timestamp.IsZero() ||
		len(stats.SealedByBuildersAt) != 1 {
		t.Errorf("stats %+v", stats)
	}
	older, err := client.FlashbotsGetBundleStats(signer, flashbotsrpc.FlashbotsGetBundleStatsParam{BundleHash: hash,
		BlockNumber: block})
	if err != nil {
		t.Fatal(err)
	}
	if !older.IsSimulated || !older.IsSentToMiners || !older.IsHighPriority ||
		!older.SubmittedAt.Equal(stats.ReceivedAt) ||
		!older.SimulatedAt.Equal(stats.SimulatedAt) ||
		!older.SentToMinersAt.Equal(stats.ConsideredByBuildersAt[0].Timestamp) {
		t.Errorf("stats of the first version %+v, of the second %+v", older, stats)
	}
	olderUser, err := client.FlashbotsGetUserStats(signer, h.next()-1)
	if err != nil || !olderUser.IsHighPriority || olderUser.AllTimeMinerPayments != "42000000000000" ||
		olderUser.Last1dMinerPayments != "42000000000000" {
		t.Errorf("user of the first version %+v, %v", olderUser, err)
	}
	raw, err := client.CallWithFlashbotsSignature("flashbots_getUserStatsV2", signer,
		map[string]string{"blockNumber": block})
	if err != nil {
		t.Fatal(err)
	}
	var user struct {
		IsHighPriority           bool
		AllTimeValidatorPayments string
	}
	if err := json.Unmarshal(raw, &user); err != nil || !user.IsHighPriority ||
		user.AllTimeValidatorPayments != "42000000000000" {
		t.Errorf("user %s, %v", raw, err)
	}
}

// The same bundle to several addresses at once: each answers, and the builder gets it once.
func TestFlashbotsrpcBroadcast(t *testing.T) {
	h := openService(t, nil)
	tx := h.tx(accountKey(0), 0, common.Address{1}, 5)
	client, bundle := flashbotsrpc.NewBuilderBroadcastRPC([]string{h.url, h.url}), flashbotsrpc.FlashbotsSendBundleRequest{
		Txs: []string{rawOf(tx)}, BlockNumber: hexNumber(h.next()),
	}
	answers := client.BroadcastBundle(accountKey(7), bundle)
	if len(answers) != 2 {
		t.Fatalf("%d answers", len(answers))
	}
	for _, got := range answers {
		if want := crypto.Keccak256Hash(tx.Hash().Bytes()).Hex(); got.Err != nil || got.BundleResponse.BundleHash != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	waitFor(h, "delivery", func(f rpc.OrderSent) bool { return f.Error == "" })
	h.mine()
	h.waitForIndexed()
	if n := len(h.builder.got); n != 1 {
		t.Errorf("the builder got it %d times", n)
	}
}

// A private transaction is known by its hash; cancelling works once.
func TestFlashbotsrpcPrivateTransaction(t *testing.T) {
	for name, preferences := range map[string]*flashbotsrpc.FlashbotsPrivateTxPreferences{"plain": nil,
		"fast": {Fast: true}} {
		t.Run(name, func(t *testing.T) {
			h := openService(t, nil)
			client, signer := flashbotsrpc.New(h.url), accountKey(7)
			tx := h.tx(accountKey(0), 0, common.Address{1}, 5)
			hash, err := client.FlashbotsSendPrivateTransaction(signer, flashbotsrpc.FlashbotsSendPrivateTransactionRequest{
				Tx: rawOf(tx), Preferences: preferences,
			})
			if err != nil || hash != tx.Hash().Hex() {
				t.Fatalf("%s, %v, want %s", hash, err, tx.Hash())
			}
			if sent := <-h.builder.got; len(sent.Txs) != 1 || hexutil.Encode(sent.Txs[0]) != rawOf(tx) {
				t.Errorf("the builder got %s", sent.body)
			}
			for _, want := range []bool{true, false} {
				cancelled, err := client.FlashbotsCancelPrivateTransaction(signer,
					flashbotsrpc.FlashbotsCancelPrivateTransactionRequest{TxHash: hash})
				if err != nil || cancelled != want {
					t.Errorf("cancelled %t, %v, want %t", cancelled, err, want)
				}
			}
		})
	}
}

// What is refused reaches the client as its error, in our words, in the answers of today and in
// those of before 2024.
func TestFlashbotsrpcErrors(t *testing.T) {
	h := openService(t, nil)
	for _, legacy := range []bool{false, true} {
		h.serve(h.config(func(cfg *Config) { cfg.LegacyErrors = legacy }))
		client, signer := flashbotsrpc.New(h.url), accountKey(7)
		send := func(txs ...string) error {
			_, err := client.FlashbotsSendBundle(signer, flashbotsrpc.FlashbotsSendBundleRequest{Txs: txs,
				BlockNumber: hexNumber(h.next())})
			return err
		}
		_, unknown := client.CallWithFlashbotsSignature("flashbots_nothing", signer)
		_, early := client.FlashbotsCallBundle(signer, flashbotsrpc.FlashbotsCallBundleParam{
			Txs: []string{rawOf(h.tx(accountKey(0), 1, common.Address{1}, 5))}, BlockNumber: hexNumber(h.next()),
		})
		for message, err := range map[string]error{
			"bundle missing txs": send(), "unable to decode bundle": send("0x01"), "method not found": unknown,
			"err: nonce too high": early,
		} {
			if !errors.Is(err, flashbotsrpc.ErrRelayErrorResponse) || !strings.Contains(err.Error(), ": "+message) {
				t.Errorf("legacy %t: %v, want %q", legacy, err, message)
			}
		}
	}
}

// A request without signature is refused with a status of its own, and the client still reads why.
func TestFlashbotsrpcUnsigned(t *testing.T) {
	h := openService(t, nil)
	_, err := flashbotsrpc.New(h.url).Call("eth_sendBundle", flashbotsrpc.FlashbotsSendBundleRequest{})
	if refused, ok := errors.AsType[flashbotsrpc.RpcError](err); !ok ||
		refused.Code != jsonrpc.Forms[rpc.SignatureMissing.ID].Code ||
		!strings.HasPrefix(refused.Message, rpc.SignatureMissing.Short) {
		t.Errorf("%v, want %s", err, rpc.SignatureMissing.Short)
	}
}

// A transaction that reverts is a result. The client says "" for a state that it was not told,
// which is the newest one.
func TestFlashbotsrpcReverts(t *testing.T) {
	h := openService(t, nil)
	creation := h.signed(accountKey(0), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:  100_000,
		Data: []byte{0x5f, 0x5f, 0xfd}, // PUSH0 PUSH0 REVERT
	})
	got, err := flashbotsrpc.New(h.url).FlashbotsCallBundle(accountKey(7), flashbotsrpc.FlashbotsCallBundleParam{
		Txs: []string{rawOf(creation)}, BlockNumber: hexNumber(h.next()),
	})
	if err != nil || len(got.Results) != 1 || got.Results[0].Error != "execution reverted" || got.StateBlockNumber != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
