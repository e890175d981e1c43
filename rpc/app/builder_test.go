package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// builder takes bundles over JSON-RPC.
type builder struct {
	url string

	mu      sync.Mutex
	bundles map[uint64][]sent // by block
	got     chan sent
}

// sent is a bundle as it came.
type sent struct {
	Txs               []hexutil.Bytes `json:"txs"`
	BlockNumber       string          `json:"blockNumber"`
	ReplacementUUID   string          `json:"replacementUuid"`
	RevertingTxHashes []common.Hash   `json:"revertingTxHashes"`
	RefundPercent     int             `json:"refundPercent"`
	RefundRecipient   *common.Address `json:"refundRecipient"`
	RefundTxHashes    []common.Hash   `json:"refundTxHashes"`
	method, signature string
	body              []byte
}

func newBuilder(t testing.TB) *builder {
	b := &builder{bundles: map[uint64][]sent{}, got: make(chan sent, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params []sent          `json:"params"`
		}
		if err := json.Unmarshal(body, &request); err != nil || len(request.Params) != 1 {
			t.Errorf("the builder got %s: %v", body, err)
			return
		}
		s := request.Params[0]
		s.method, s.signature, s.body = request.Method, r.Header.Get("X-Flashbots-Signature"), body
		b.keep(s)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":null}`, request.ID)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *builder) keep(s sent) {
	b.mu.Lock()
	if number, err := strconv.ParseUint(strings.TrimPrefix(s.BlockNumber, "0x"), 16, 64); err == nil &&
		s.method == "eth_sendBundle" {
		b.bundles[number] = append(b.bundles[number], s)
	}
	b.mu.Unlock()
	b.got <- s
}

// forget has the builder lose what it has.
func (b *builder) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.bundles)
}

// take are the transactions of all bundles for a block.
func (b *builder) take(number uint64) []*types.Transaction {
	b.mu.Lock()
	defer b.mu.Unlock()
	var txs []*types.Transaction
	for _, s := range b.bundles[number] {
		for _, raw := range s.Txs {
			tx := new(types.Transaction)
			if err := tx.UnmarshalBinary(raw); err != nil {
				panic(err)
			}
			txs = append(txs, tx)
		}
	}
	return txs
}
