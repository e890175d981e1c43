package stream_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/orderflow"
)

// The orders of the tables: one of each kind of transaction, with recognizable bytes.

var (
	router = common.HexToAddress("0xAbCd00000000000000000000000000000000Abcd")
	pair   = common.HexToAddress("0x00000000000000000000000000000000000009a1")
	sender = common.HexToAddress("0x5e4De70000000000000000000000000000000001")

	swapV2, swapBalancer = topic("d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"),
		topic("2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b")
	transfer = topic("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
)

func topic(hex string) common.Hash { return common.HexToHash("0x" + hex) }

// kind is a transaction of the matrix.
type kind struct {
	name string
	tx   types.TxData
}

func kinds() []kind {
	swap := common.FromHex("0x12aa3caf" + strings.Repeat("00", 31) + "2a")
	list := types.AccessList{{Address: pair, StorageKeys: []common.Hash{{31: 1}, {31: 2}}}, {Address: router}}
	one, tip, fee := big.NewInt(1), big.NewInt(2e9), big.NewInt(3e10)
	u := uint256.MustFromBig
	return []kind{
		{"legacy", &types.LegacyTx{Nonce: 7, GasPrice: fee, Gas: 250_000, To: &router, Value: big.NewInt(5), Data: swap,
			V: big.NewInt(38), R: one, S: one}},
		{"unprotected", &types.LegacyTx{Nonce: 7, GasPrice: fee, Gas: 250_000, To: &router, Data: swap, V: big.NewInt(27),
			R: one, S: one}},
		{"access list", &types.AccessListTx{ChainID: one, Nonce: 7, GasPrice: fee, Gas: 250_000, To: &router, Data: swap,
			AccessList: list, V: one, R: one, S: one}},
		{"fee caps", &types.DynamicFeeTx{ChainID: one, Nonce: 7, GasTipCap: tip, GasFeeCap: fee, Gas: 250_000, To: &router,
			Data: swap, V: one, R: one, S: one}},
		{"blob", &types.BlobTx{ChainID: u(one), Nonce: 7, GasTipCap: u(tip), GasFeeCap: u(fee), Gas: 250_000,
			To: router, Data: swap,
			BlobFeeCap: u(one), BlobHashes: []common.Hash{{0: 1}}, V: u(one), R: u(one), S: u(one)}},
		{"set code", &types.SetCodeTx{ChainID: u(one), Nonce: 7, GasTipCap: u(tip), GasFeeCap: u(fee), Gas: 250_000,
			To: router, Data: swap,
			AuthList: []types.SetCodeAuthorization{{ChainID: *u(one), Address: pair}}, V: u(one), R: u(one), S: u(one)}},
		{"creation", &types.DynamicFeeTx{ChainID: one, GasTipCap: tip, GasFeeCap: fee, Gas: 900_000,
			Data: common.FromHex("0x6080604052"), V: one, R: one, S: one}},
		{"short calldata", &types.DynamicFeeTx{ChainID: one, GasTipCap: tip, GasFeeCap: fee, Gas: 30_000, To: &router,
			Data: []byte{0xab, 0xcd}, V: one, R: one, S: one}},
		{"plain transfer", &types.DynamicFeeTx{ChainID: one, Nonce: 1, GasTipCap: tip, GasFeeCap: fee, Gas: 21_000,
			To: &router, Value: big.NewInt(1e18), V: one, R: one, S: one}},
	}
}

// logs are a token's transfer, a swap of two kinds, one that lacks its pool, and one without any
// topic.
func logs() []orderflow.Log {
	return []orderflow.Log{
		{Address: router, Topics: []common.Hash{transfer, {31: 1}, {31: 2}}, Data: []byte{1}},
		{Address: pair, Topics: []common.Hash{swapV2, {31: 3}, {31: 4}}, Data: []byte{2, 3}},
		{Address: router, Topics: []common.Hash{swapBalancer, {0: 0xba, 31: 5}, {31: 6}, {31: 7}}, Data: []byte{4}},
		{Address: router, Topics: []common.Hash{swapBalancer}},
		{Address: router, Topics: []common.Hash{}},
	}
}

// element is a transaction of an order.
func element(t testing.TB, data types.TxData, logs ...orderflow.Log) orderflow.Element {
	t.Helper()
	tx := types.NewTx(data)
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return orderflow.Element{Tx: &orderflow.Tx{Raw: raw, Hash: tx.Hash(), From: sender, Logs: logs}}
}

// order is one that shares some hints of its elements.
func order(hints orderflow.Hints, elements ...orderflow.Element) *orderflow.Shared {
	return &orderflow.Shared{
		At: time.Unix(1_700_000_000, 0).UTC(), Block: 100, Hash: common.Hash{31: 0xaa}, Bundle: orderflow.Bundle{Hints: hints,
			Elements: elements},
		GasUsed: 123_456, MevGasPriceWei: uint256.NewInt(1_234_567_890),
	}
}
