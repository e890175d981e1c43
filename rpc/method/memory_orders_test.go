package method

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// The bound holds for well-formed transactions, too, and for many of them in a batch: small ones,
// and such that have as many entries as their bytes have room for, each as short as can be. What
// transactions of today have is taken.
func TestMemoryOfWellFormedOrders(t *testing.T) {
	server, _ := memoryServer(t)
	for name, c := range map[string]struct {
		tx    types.TxData
		count int
		taken bool
	}{
		"small transactions":       {&types.LegacyTx{Gas: 21_000, To: &common.Address{}}, 50, true},
		"300 addresses":            {withAddresses(300), 1, true},
		"50 authorizations":        {withAuthorizations(50), 1, true},
		"addresses without end":    {withAddresses(12_500), 1, false},
		"addresses in many":        {withAddresses(250), 50, false},
		"authorizations for ever":  {withAuthorizations(10_500), 1, false},
		"authorizations in many":   {withAuthorizations(200), 50, false},
		"slots, which pay for all": {withSlots(8_000), 1, true},
	} {
		tx := `"0x` + hex.EncodeToString(signedBy(t, c.tx)) + `"`
		txs := strings.TrimSuffix(strings.Repeat(tx+",", c.count), ",")
		elements := strings.TrimSuffix(strings.Repeat(`{"tx":`+tx+`,"canRevert":false},`, c.count), ",")
		var bodies []servetest.Body
		for method, params := range map[string]string{
			"eth_sendBundle":             `{"blockNumber":"0x2","txs":[` + txs + `]}`,
			"mev_sendBundle":             `{"version":"v0.1","inclusion":{"block":"0x2"},"body":[` + elements + `]}`,
			"eth_sendPrivateTransaction": `{"tx":` + tx + `}`, "eth_sendRawTransaction": tx,
		} {
			one := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":[%s]}`, method, params)
			if c.count == 1 || strings.Contains(params, "[") {
				if taken := !strings.Contains(answerOf(t, server, one), `"error"`); taken != c.taken {
					t.Errorf("%s, %s: taken: %t", method, name, taken)
				}
			}
			bodies = append(bodies, servetest.Body{Name: name, Text: []byte(one)}, servetest.Body{Name: name + " in a batch",
				Text: []byte("[" + strings.TrimSuffix(strings.Repeat(one+",", 5), ",") + "]")})
		}
		checkMemory(t, server, "an order", bodies)
	}
}

func answerOf(t *testing.T, server http.Handler, body string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w.Body.String()
}

func withAddresses(count int) types.TxData {
	return &types.AccessListTx{ChainID: common.Big1, Gas: 1_000_000, GasPrice: common.Big1, To: &common.Address{},
		AccessList: make(types.AccessList, count)}
}

func withSlots(count int) types.TxData {
	return &types.AccessListTx{ChainID: common.Big1, Gas: 1_000_000, GasPrice: common.Big1, To: &common.Address{},
		AccessList: types.AccessList{{StorageKeys: make([]common.Hash, count)}}}
}

func withAuthorizations(count int) types.TxData {
	return &types.SetCodeTx{ChainID: uint256.NewInt(1), Gas: 1_000_000,
		AuthList: make([]types.SetCodeAuthorization, count)}
}

func signedBy(t *testing.T, data types.TxData) []byte {
	t.Helper()
	key, err := crypto.ToECDSA(common.LeftPadBytes([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if legacy, ok := data.(*types.LegacyTx); ok {
		legacy.GasPrice, legacy.Value = big.NewInt(1), new(big.Int)
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(common.Big1), data)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
