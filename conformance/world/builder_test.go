package world

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
)

// Orders that come to the world's builders are remembered as they came, and those of the first
// builder are in a block when somebody wants them there: not unasked, and not when they were
// cancelled.
func TestBuilders(t *testing.T) {
	w, err := New(Config{Slot: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	handler := w.builders.Handler()
	post := func(builder, method string, param any) {
		t.Helper()
		body := probe.Call{ID: 1, Method: method, Params: []any{param}}.Body()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+builder, strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(probe.SignatureHeader, probe.BodySignature(w.network.Users[0], body))
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != http.StatusOK || strings.Contains(answer.Body.String(), `"error"`) {
			t.Fatalf("%s: %d %s", method, answer.Code, answer.Body)
		}
	}
	transfer := func(account int) (common.Hash, string) {
		t.Helper()
		tx, err := types.SignNewTx(w.network.Users[account], types.LatestSignerForChainID(big.NewInt(network.ChainID)),
			&types.DynamicFeeTx{
				ChainID: big.NewInt(network.ChainID), GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(100e9), Gas: 21_000,
				To: &common.Address{1}, Value: big.NewInt(1),
			})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return tx.Hash(), hexutil.Encode(raw)
	}
	const name = "11111111-1111-4111-8111-111111111111"
	hash, raw := transfer(1)
	gone, rawGone := transfer(2)
	elsewhere, rawElsewhere := transfer(3)
	post("default", "mev_sendBundle", map[string]any{
		"version": "v0.1", "inclusion": map[string]any{"block": "0x1", "maxBlock": "0x3"},
		"body": []any{map[string]any{"tx": raw, "canRevert": false}},
	})
	post("default", "eth_sendBundle", map[string]any{"txs": []string{rawGone}, "blockNumber": "0x1",
		"replacementUuid": name})
	post("default", "eth_cancelBundle", map[string]any{"replacementUuid": name})
	post("second", "eth_sendPrivateTransaction", map[string]any{"tx": rawElsewhere, "maxBlockNumber": "0x19"})

	for _, row := range []struct {
		tx   common.Hash
		want string
	}{
		{hash, "default mev_sendBundle 1-3 false"}, {gone, "default eth_sendBundle 1-1 true"},
		{elsewhere, "second eth_sendPrivateTransaction 0-25 false"},
	} {
		list := w.builders.listSent(row.tx)
		if len(list) != 1 || fmt.Sprintf("%s %s %d-%d %v", list[0].Builder, list[0].Method, list[0].FirstBlock,
			list[0].LastBlock, list[0].Cancelled) != row.want {
			got, _ := json.Marshal(list) // for the message only
			t.Errorf("%s, want %s", got, row.want)
		}
	}
	built := func() map[common.Hash]bool {
		t.Helper()
		block, err := w.builders.Build(t.Context(), chain.BuildArgs{Parent: phase0.Hash32(w.network.Chain.Genesis().Hash()),
			Slot:           1,
			GasLimitTarget: 60_000_000})
		if err != nil {
			t.Fatal(err)
		}
		in := map[common.Hash]bool{}
		for _, tx := range block.Block.Transactions() {
			in[tx.Hash()] = true
		}
		return in
	}
	if in := built(); len(in) != 0 {
		t.Errorf("a block has %v, which nobody wants there", in)
	}
	w.builders.want([]common.Hash{hash, gone, elsewhere})
	if in := built(); !in[hash] || in[gone] || in[elsewhere] {
		t.Errorf("a block has %v; want %s, which was not cancelled and came to the builder", in, hash)
	}
}
