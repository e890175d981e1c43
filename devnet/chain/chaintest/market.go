package chaintest

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Signer returns the signer of the market's chain.
func Signer() types.Signer { return types.LatestSignerForChainID(big.NewInt(ChainID)) }

// Wallet returns the key number i of a family.
func Wallet(name string, i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Append(nil, "builder test ", name, i)))
	if err != nil {
		panic(err)
	}
	return key
}

// OpenChain opens a chain with the market's contracts. The wallets builder 0, blobs 0 and user 0 to
// 9 have ether there. The chain is closed when the test ends.
func OpenChain(t *testing.T, spec *eth.Spec) *chain.Node {
	t.Helper()
	funded := []common.Address{AddressOf(Wallet("builder", 0)), AddressOf(Wallet("blobs", 0))}
	for i := range 10 {
		funded = append(funded, AddressOf(Wallet("user", i)))
	}
	node, err := chain.Open(chain.Config{Spec: spec, ChainID: ChainID, Funded: funded, Accounts: chain.Genesis(funded)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	return node
}

// Market has transactions by name, and sends orders with them:
//
//	A      user 0 buys tokens for 20 ether in pool A, with a tip
//	A2     the next transaction of user 0: a transfer with a higher tip
//	B50 …  a backrun closes the price gap and pays that percentage of its profit
//	P, Q   transfers of users 8 and 9 with tips of 5 and 3 gwei
//	R      a swap at a price that does not exist, which reverts
type Market struct {
	t   *testing.T
	url string
	// Txs are the transactions by name.
	Txs map[string]*types.Transaction
	// payees are the names of accounts that may be paid.
	payees map[common.Address]string
}

// New returns a market that sends orders to a handler. Its transactions are for a chain that
// OpenChain has opened, as long as nothing was imported into it.
func New(t *testing.T, handler http.Handler) *Market {
	t.Helper()
	m := &Market{t: t, Txs: map[string]*types.Transaction{}, payees: map[common.Address]string{}}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	m.url = server.URL

	ether := func(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }
	call := func(name string, user int, nonce uint64, tipGwei int64, to common.Address, value *big.Int, data []byte) {
		tx, err := types.SignNewTx(Wallet("user", user), Signer(), &types.DynamicFeeTx{
			ChainID: big.NewInt(ChainID), Nonce: nonce, GasTipCap: big.NewInt(tipGwei * params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei),
			Gas:       chain.BackrunGas, To: &to, Value: value, Data: data,
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Txs[name] = tx
	}
	call("A", 0, 0, 1, chain.RouterAt, ether(20), chain.BuyCall(chain.PoolA, new(uint256.Int)))
	call("A2", 0, 1, 90, common.Address{0xa2}, ether(1), nil)
	for i, percent := range []uint64{50, 60, 80} {
		call(fmt.Sprint("B", percent), 1+i, 0, 0, chain.BackrunAt, ether(100),
			chain.RunCall(chain.PoolA, chain.PoolB, percent))
	}
	call("P", 8, 0, 5, common.Address{0xaa}, ether(1), nil)
	call("Q", 9, 0, 3, common.Address{0xbb}, ether(1), nil)
	call("R", 7, 0, 2, chain.RouterAt, ether(1),
		chain.BuyCall(chain.PoolB, uint256.MustFromBig(ether(1_000_000))))
	for i := range 10 {
		m.payees[AddressOf(Wallet("user", i))] = fmt.Sprint("user", i)
	}
	return m
}

// Raw returns a transaction as it is sent.
func (m *Market) Raw(name string) hexutil.Bytes {
	m.t.Helper()
	tx, ok := m.Txs[name]
	if !ok {
		m.t.Fatalf("no transaction %s", name)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		m.t.Fatal(err)
	}
	return raw
}

// Hash returns a transaction's hash.
func (m *Market) Hash(name string) common.Hash { return m.Txs[name].Hash() }

// Object is a JSON object.
type Object = map[string]any

// Bundle returns the parameter of an eth_sendBundle for block 1, with further fields.
func (m *Market) Bundle(names string, fields Object) Object {
	form := Object{"blockNumber": "0x1"}
	var txs []hexutil.Bytes
	for _, name := range strings.Fields(names) {
		txs = append(txs, m.Raw(name))
	}
	form["txs"] = txs
	for key, value := range fields {
		form[key] = value
	}
	return form
}

// Tx returns an element of the body of a mev_sendBundle.
func (m *Market) Tx(name string) Object { return Object{"tx": m.Raw(name)} }

// Share returns the parameter of a mev_sendBundle for block 1.
func Share(validity Object, body ...Object) Object {
	return Object{"version": "v0.1", "inclusion": Object{"block": "0x1", "maxBlock": "0x1"}, "body": body,
		"validity": validity}
}

// Refund90 refunds 90 % of what the elements after element 0 pay to the owner of element 0.
var Refund90 = Object{"refund": []Object{{"bodyIdx": 0, "percent": 90}}}

// Do calls a method, signed with a key, and returns the result or the error's text.
func (m *Market) Do(by *ecdsa.PrivateKey, method string, param any) string {
	m.t.Helper()
	body, err := json.Marshal(Object{"jsonrpc": "2.0", "id": 1, "method": method, "params": []any{param}})
	if err != nil {
		m.t.Fatal(err)
	}
	signature, err := crypto.Sign(accounts.TextHash([]byte(crypto.Keccak256Hash(body).Hex())), by)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.Post(body, AddressOf(by).Hex()+":"+hexutil.Encode(signature))
}

// Post sends a body with a signature header, and returns the result or the error's text.
func (m *Market) Post(body []byte, signature string) string {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Flashbots-Signature", signature)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		return response.Status + " " + strings.TrimSpace(string(text))
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		m.t.Fatalf("%s: %v", text, err)
	}
	if answer.Error != nil {
		return "error " + answer.Error.Message
	}
	return string(answer.Result)
}

// Send is Do with the order-flow service's key. The call must succeed.
func (m *Market) Send(method string, param any) {
	m.t.Helper()
	if answer := m.Do(Wallet("service", 0), method, param); strings.HasPrefix(answer, "error") ||
		!strings.HasPrefix(answer, "{") {
		m.t.Fatalf("%s: %s", method, answer)
	}
}

// Args returns the arguments of a draft of block 1.
func Args(node *chain.Node) chain.BuildArgs {
	return chain.BuildArgs{
		Parent: phase0.Hash32(node.Genesis().Hash()), Slot: 1, Coinbase: AddressOf(Wallet("builder", 0)),
		GasLimitTarget: 60_000_000,
	}
}

// Names returns the names of transactions. A payout is shown as an arrow and the name of its payee.
func (m *Market) Names(txs types.Transactions) string {
	byHash := map[common.Hash]string{}
	for name, tx := range m.Txs {
		byHash[tx.Hash()] = name
	}
	var names []string
	for _, tx := range txs {
		name, ok := byHash[tx.Hash()]
		if !ok {
			name = "→" + m.payees[*tx.To()]
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// UUID returns a replacementUuid for a number.
func UUID(n int) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte{byte(n)}) }

// Want calls a method and compares the answer with the expected one.
func (m *Market) Want(answer, method string, param any) {
	m.t.Helper()
	if got := m.Do(Wallet("service", 0), method, param); got != answer {
		m.t.Errorf("%s answers %s, want %s", method, got, answer)
	}
}
