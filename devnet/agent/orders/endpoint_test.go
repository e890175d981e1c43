package orders

import (
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
)

// What cannot be taken is refused, and nothing of it is kept.
func TestEndpointRefuses(t *testing.T) {
	s := newMarket(t)
	for _, c := range []struct {
		name, method string
		param        any
		want         string
	}{
		{"nothing", "eth_sendBundle", chaintest.Object{}, "error bundle with no txs"},
		{"no transaction", "eth_sendBundle", chaintest.Object{"txs": []string{"0x1234"}},
			"error unable to decode txs: transaction type not supported"},
		{"too much is given back", "eth_sendBundle", s.Bundle("P", chaintest.Object{"refundPercent": 100}),
			"error invalid refund percent 100"},
		{"a hash", "mev_sendBundle", chaintest.Share(nil, chaintest.Object{"hash": s.Hash("A")}, s.Tx("B50")),
			"error unmatched bundle"},
		{"an empty element", "mev_sendBundle", chaintest.Share(nil, chaintest.Object{}),
			"error an element is a transaction or a bundle"},
		{"no block", "mev_sendBundle", chaintest.Object{"body": []chaintest.Object{s.Tx("P")}},
			"error inclusion without a block"},
		{
			"refunds above 100 %", "mev_sendBundle",
			chaintest.Share(chaintest.Object{"refund": []chaintest.Object{{"bodyIdx": 0, "percent": 60},
				{"bodyIdx": 1, "percent": 60}}},
				s.Tx("P"), s.Tx("Q")),
			"error refunds of 120 % with shares of 0 %",
		},
		{
			"a refund for nobody", "mev_sendBundle",
			chaintest.Share(chaintest.Object{"refund": []chaintest.Object{{"bodyIdx": 7, "percent": 60}}},
				s.Tx("P")),
			"error a refund of 60 % for element 7 of 1",
		},
		{"cancel nothing", "eth_cancelBundle", chaintest.Object{}, "error no replacementUuid"},
		{"no private transaction", "eth_sendPrivateTransaction", chaintest.Object{},
			"error unable to decode txs: typed transaction too short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := s.Do(chaintest.Wallet("service", 0), c.method, c.param); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if got := s.block(); got != "" {
		t.Errorf("the block is %q", got)
	}
}

// Only who signs is heard, and only for what was signed.
func TestEndpointWantsASignature(t *testing.T) {
	s := newMarket(t)
	body, foreign := []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{}]}`),
		chaintest.AddressOf(chaintest.Wallet("service", 0)).Hex()
	for name, header := range map[string]string{
		"none": "", "no signature": foreign, "no hex": foreign + ":signature", "too short": foreign + ":0x1234",
		"all zero": foreign + ":" + hexutil.Encode(make([]byte, 65)),
	} {
		if got := s.Post(body, header); got != "403 Forbidden "+errSignature.Error() {
			t.Errorf("%s: %s", name, got)
		}
	}
}
